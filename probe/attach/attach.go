package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/bounded"
	"vramscope/internal/process"
	"vramscope/probe"
)

type Method string

// The methods. None means that there is no way into the process.
const (
	None       Method = ""
	GDB        Method = "gdb"
	RemoteExec Method = "remote_exec" // sys.remote_exec, Python 3.14
)

// defaultTimeout limits the search for a usable thread, and then the wait until the payload begins.
const defaultTimeout = 10 * time.Second

// Attacher puts probes into processes of its own user.
type Attacher struct {
	table  *process.Table
	finder *probe.Finder
	uid    uint32
	now    func() time.Time
	pause  func(context.Context, time.Duration)

	proc       string
	cgroups    string // the mount point of cgroups
	gdb        string // the name or the path of the program
	timeout    time.Duration
	answerTime time.Duration // the timeout for gdb, and for the process's own interpreter

	mu        sync.Mutex
	gdbChecks map[string]Check // what checkGdb has found, by gdb's path
}

// New returns an Attacher for the user that runs this program.
func New(table *process.Table, finder *probe.Finder) *Attacher {
	return &Attacher{
		table: table, finder: finder, uid: uint32(os.Geteuid()), now: time.Now, pause: bounded.Sleep, proc: "/proc", cgroups: "/sys/fs/cgroup", gdb: "gdb",
		timeout: defaultTimeout, answerTime: answerTime, gdbChecks: make(map[string]Check),
	}
}

type Result struct {
	Method     Method
	Standstill time.Duration // how long the process was stopped in total
	Took       time.Duration // from the start until the probe answered
	Hello      probe.Hello
}

// Enter starts the probe in a process by a plan without a refusal, and returns when the probe
// answers. If it fails before the probe starts, the code that it has queued does nothing later.
func (a *Attacher) Enter(ctx context.Context, plan *Plan) (Result, error) {
	began := a.now()
	result := Result{Method: plan.Method}
	err := a.enter(ctx, plan, &result)
	result.Took = a.now().Sub(began)
	var refusal *process.Refusal
	switch {
	case err == nil, errors.As(err, &refusal):
		return result, err
	case errors.Is(err, errExited):
	case !a.table.Alive(plan.Process):
		err = errExited // the other failures follow from it
	}
	return result, fmt.Errorf("attach to PID %d: %w", plan.Process.PID, err)
}

func (a *Attacher) enter(ctx context.Context, plan *Plan, result *Result) error {
	place, err := a.lock(ctx, plan.Process)
	if err != nil {
		return err
	}
	defer func() { _ = place.Close() }() // only locked
	own, err := readStatus(ctx, a.proc, "self")
	if err != nil {
		return err
	}
	socket, err := probe.Place(int(a.uid), a.variable(ctx, plan.Process.PID, "XDG_RUNTIME_DIR"), plan.Process.PID, plan.Process.StartTime)
	if err != nil || plan.root != "" {
		socket = "" // the probe looks for a place itself, and reports why it finds none
	}
	load, err := newPayload(plan.Method == RemoteExec, &own, socket, plan.root)
	if err != nil {
		return err
	}
	defer load.remove()
	if plan.Method == GDB {
		result.Standstill, err = a.inject(ctx, plan, load)
	} else {
		err = a.remoteExec(ctx, plan, load)
	}
	if err == nil {
		result.Hello, err = a.await(ctx, plan, load)
	}
	if err != nil && !a.table.Alive(plan.Process) {
		err = a.exited(ctx, plan, load)
	}
	return err
}

// lock keeps other attaches out of a process until the file is closed: only this user and root can
// open the file. It refuses a process that is locked, or that has a probe by now.
func (a *Attacher) lock(ctx context.Context, id process.Identity) (*os.File, error) {
	file, err := os.Open(filepath.Join(a.proc, strconv.Itoa(id.PID), "maps"))
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		if failed := a.greet(ctx, id); failed != nil {
			return file, nil
		}
		err = &process.Refusal{Reason: hasProbe} // it has got a probe since it was examined
	} else if errors.Is(err, unix.EWOULDBLOCK) {
		err = &process.Refusal{Reason: "another vramscope attaches to it at this moment"}
	}
	_ = file.Close() // only locked
	return nil, err
}

// startTime is how long a probe that has begun to start may take to answer. Each of
// its first system calls may wait until C code releases the GIL.
const startTime = time.Minute

// await waits until the probe answers, or returns why it does not.
func (a *Attacher) await(ctx context.Context, plan *Plan, load *payload) (probe.Hello, error) {
	deadline, begun := a.now().Add(a.timeout), false
	g := greeting{finder: a.finder, pid: plan.Process.PID}
	defer g.close()
	for {
		if reason := load.failure(); reason != "" {
			return probe.Hello{}, fmt.Errorf("the probe does not start: %s", reason)
		}
		hello, failed := g.hello(ctx)
		switch {
		case failed == nil:
			return hello, nil
		case !a.table.Alive(plan.Process):
			return probe.Hello{}, errExited
		case ctx.Err() != nil && load.withdraw():
			return probe.Hello{}, &givenUp{"; nothing will happen later", ctx.Err()}
		case ctx.Err() != nil:
			return probe.Hello{}, &givenUp{" before the probe answered; it may still start", ctx.Err()}
		case !begun && load.begun():
			deadline, begun = a.now().Add(startTime), true
		case a.now().After(deadline) && begun:
			return probe.Hello{}, fmt.Errorf("the probe was started, but did not answer within %v; it may still answer: %w", startTime, failed)
		case a.now().After(deadline) && load.withdraw():
			return probe.Hello{}, a.notBegun(ctx, plan)
		}
		a.pause(ctx, 10*time.Millisecond)
	}
}

// givenUp is the error of a cancelled wait.
type givenUp struct {
	when string
	err  error // the context's
}

// Error implements error, without the context's error.
func (g *givenUp) Error() string { return "cancelled" + g.when }

func (g *givenUp) Unwrap() error { return g.err }

// notBegun returns the error of a payload that did not start in time and now never will.
func (a *Attacher) notBegun(ctx context.Context, plan *Plan) error {
	seconds := int(a.timeout / time.Second)
	if reason := a.hindrance(ctx, plan.Process.PID); reason != "" {
		return fmt.Errorf("%s; nothing will happen later", reason)
	}
	if plan.Method == RemoteExec {
		return fmt.Errorf("its main thread did not return to Python within %d s: it waits or computes in C code; nothing will happen later, try again when it is busy", seconds)
	}
	return fmt.Errorf("no other thread could run Python for %d s: C code holds the interpreter; nothing will happen later, try again", seconds)
}

func (a *Attacher) greet(ctx context.Context, id process.Identity) error {
	g := greeting{finder: a.finder, pid: id.PID}
	defer g.close()
	_, err := g.hello(ctx)
	return err
}

// greeting says hello to a process's probe. It keeps its connection while the answer is late: a new
// connection may cost the probe another wait for the GIL.
type greeting struct {
	finder *probe.Finder
	pid    int
	client *probe.Client
}

func (g *greeting) hello(ctx context.Context) (probe.Hello, error) {
	if g.client == nil {
		client, err := g.finder.Open(g.pid)
		if err != nil {
			return probe.Hello{}, err
		}
		g.client = client
	}
	hello, err := g.client.Hello(ctx)
	if err != nil && !errors.Is(err, probe.ErrLate) {
		g.close()
	}
	return hello, err
}

func (g *greeting) close() {
	if g.client != nil {
		_ = g.client.Close() // nothing was written that could be lost
		g.client = nil
	}
}

// firstLines returns the beginning of an untrusted text, on one line.
func firstLines(text string) string {
	const limit = 300
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// errExited is for a process that has exited, also if its parent has not collected the exit status.
var errExited = errors.New("the process has exited")

// exited returns errExited with the exit status, if that is known, and the stage of the attach.
func (a *Attacher) exited(ctx context.Context, plan *Plan, load *payload) error {
	when := "before the probe's code ran in it"
	if plan.root != "" || load.begun() { // the payload's files have gone with its root
		when = "while the probe was starting in it, which may be why; the last lines of its own output may say more"
	}
	return fmt.Errorf("%w%s %s", errExited, a.exitStatus(ctx, plan.Process.PID), when)
}

// exitStatus returns how a process exited, in brackets; "" if that is unknown.
// Source: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
func (a *Attacher) exitStatus(ctx context.Context, pid int) string {
	content, err := readProc(ctx, 4<<10, filepath.Join(a.proc, strconv.Itoa(pid)), "stat")
	fields := strings.Fields(content[strings.LastIndexByte(content, ')')+1:])
	const exitCode = 52 - 3 // field 52; fields begins with the state, which is field 3
	if err != nil || len(fields) <= exitCode || fields[0] != "Z" {
		return ""
	}
	code, err := strconv.ParseUint(fields[exitCode], 10, 32)
	if err != nil {
		return ""
	}
	status := syscall.WaitStatus(code)
	if status.Signaled() {
		return " (" + unix.SignalName(status.Signal()) + ")"
	}
	return fmt.Sprintf(" (status %d)", status.ExitStatus())
}

// Package attach gets the Python probe into a process that runs already.
//
//	Examine ── /proc, ELF files, gdb ──→ Plan: every reason for and against
//	   ↓ somebody has said yes
//	Enter ──┬ 3.8–3.13  gdb ── stop ── one thread is started ── detach ─┐
//	        └ 3.14      sys.remote_exec by the target's own interpreter ┤
//	                                                                    ↓
//	      probe ←── socket ←── vramscope_probe._start ←── payload in the process
//
// How it is done with gdb. Nothing of Python is ever called where the process
// happens to stop: interpreter and heap may be in the middle of anything. The
// one thing done there is to start a thread, which waits for its turn (the GIL)
// as every other thread does and then runs the payload. Starting a thread
// takes the C library's heap, so that it is done only in a thread that is
// certainly not inside of the C library's locks: one that waits in a system
// call of a kind that no lock is held across, or one that executes code of
// CPython itself. Which of them there is, /proc/PID/task/TID/syscall tells while
// the process stands still. Where there is none the process is let go at once
// and looked at again a moment later.
//
// That takes no breakpoint: no child that the process forks meanwhile inherits
// one, and no process that it runs into one by. It takes no symbols in gdb
// either (the addresses come from the ELF files), so that a process stands still for
// milliseconds, however many libraries it has.
//
// gdb is driven through its standard input. If vramscope ends, however
// violently, gdb reads the end of its input, lets go of the process, and ends.
package attach

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"vramscope/internal/process"
	"vramscope/probe"
)

// Method is a way into a process.
type Method string

// The ways. None is for a process that there is no way into.
const (
	None       Method = ""
	GDB        Method = "gdb"
	RemoteExec Method = "remote_exec" // sys.remote_exec, Python 3.14
)

// patience is how long a way in may take: until a thread that can be used is
// found, and then until the probe answers.
const patience = 10 * time.Second

// Options are what an Attacher works with.
type Options struct {
	Proc   string // "/proc" where it is left out
	Table  *process.Table
	Finder *probe.Finder // finds the probe that there is, or that has come
	Gdb    string        // the program; looked for on PATH where it is left out
}

// Attacher puts probes into processes of its own user.
type Attacher struct {
	options Options
	uid     uint32
	now     func() time.Time
	pause   func(context.Context, time.Duration)

	cgroups    string // where the kernel's groups of processes are
	patience   time.Duration
	answerTime time.Duration // of gdb, and of the process's own interpreter

	mu      sync.Mutex
	foundBy map[string]Check // what each gdb has said of itself
}

// New returns an Attacher for the user that runs this program.
func New(options Options) *Attacher {
	if options.Proc == "" {
		options.Proc = "/proc"
	}
	return &Attacher{
		options: options, uid: uint32(os.Geteuid()), now: time.Now, pause: sleep, cgroups: "/sys/fs/cgroup",
		patience: patience, answerTime: answerTime, foundBy: make(map[string]Check),
	}
}

// Result is what came of attaching.
type Result struct {
	Method     Method
	Standstill time.Duration // for how long the process stood still, all in all
	Took       time.Duration // from the start until the probe answered
	Hello      probe.Hello
}

// Enter puts the probe into a process by the way of a plan that has no refusal,
// and returns once the probe answers. If it fails, whatever it had brought into
// the process finds nothing to run.
func (a *Attacher) Enter(ctx context.Context, plan *Plan) (Result, error) {
	began := a.now()
	result := Result{Method: plan.Method}
	var target born
	if plan.Method == RemoteExec {
		target = born{plan.Process.PID, plan.Process.StartTime}
	}
	load, err := newPayload(target)
	if err != nil {
		return result, fmt.Errorf("attach to PID %d: %w", plan.Process.PID, err)
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
	result.Took = a.now().Sub(began)
	if err != nil {
		return result, fmt.Errorf("attach to PID %d: %w", plan.Process.PID, err)
	}
	return result, nil
}

// await waits until the probe answers, or says why it does not.
func (a *Attacher) await(ctx context.Context, plan *Plan, load *payload) (probe.Hello, error) {
	deadline := a.now().Add(a.patience)
	for {
		if reason := load.failure(); reason != "" {
			return probe.Hello{}, fmt.Errorf("the probe does not start in it: %s", reason)
		}
		hello, unheard := a.greet(ctx, plan.Process)
		if unheard == nil {
			return hello, nil
		}
		switch now, err := a.options.Table.Identify(plan.Process.PID); {
		case err != nil || now.StartTime != plan.Process.StartTime:
			return probe.Hello{}, errors.New("it has ended meanwhile")
		case ctx.Err() != nil:
			return probe.Hello{}, &givenUp{"before its probe answered; it may come yet", ctx.Err()}
		case a.now().After(deadline):
			return probe.Hello{}, a.notCome(plan, load, unheard)
		}
		a.pause(ctx, 10*time.Millisecond)
	}
}

// givenUp is the error of who was told to stop waiting.
type givenUp struct {
	when string
	err  error // the context's
}

// Error implements error. That a context was cancelled says nothing to a person.
func (g *givenUp) Error() string { return "given up " + g.when }

// Unwrap gives the context's error.
func (g *givenUp) Unwrap() error { return g.err }

// notCome says how far it has come.
func (a *Attacher) notCome(plan *Plan, load *payload, unheard error) error {
	seconds := int(a.patience / time.Second)
	switch {
	case load.started():
		return fmt.Errorf("the probe was started in it, and has not answered within %d s; it may come yet: %w", seconds, unheard)
	case plan.Method == RemoteExec:
		return fmt.Errorf("its main thread did not come back to Python within %d s: it waits or computes in C code; nothing will happen later, try again when it is busy", seconds)
	default:
		return fmt.Errorf("no other thread could run Python in it for %d s: C code holds the interpreter; nothing will happen later, try again", seconds)
	}
}

// greet says hello to the process's probe.
func (a *Attacher) greet(ctx context.Context, id process.Identity) (probe.Hello, error) {
	client, err := a.options.Finder.Open(id.PID)
	if err != nil {
		return probe.Hello{}, err
	}
	defer func() { _ = client.Close() }() // it was only asked
	return client.Hello(ctx)
}

// sleep waits, or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// firstLines is the start of a text of somebody else's, on one line.
func firstLines(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

package attach

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// settings keep gdb from looking for anything outside of the process: no
// symbols (a process with PyTorch has gigabytes of them), no questions, no
// signals kept from the process. A call that is interrupted is undone.
var settings = []string{
	"set confirm off", "set pagination off", "set width 0", "set height 0",
	"set sysroot /dev/null", "set auto-solib-add off", "set print thread-events off",
	"set detach-on-fork on", "set follow-fork-mode parent", "set schedule-multiple off",
	"set unwindonsignal on", "handle all nostop noprint pass",
}

// injection is one process that gets its thread by gdb.
type injection struct {
	*debugger
	attacher *Attacher
	plan     *Plan
	dir      string // /proc/PID
	load     *payload
}

// inject starts the payload's thread in a process, by gdb.
func (a *Attacher) inject(ctx context.Context, plan *Plan, load *payload) (stood time.Duration, err error) {
	dir := filepath.Join(a.options.Proc, strconv.Itoa(plan.Process.PID))
	if err := plan.python.verify(dir); err != nil {
		return 0, err
	}
	d, err := startDebugger(plan.gdb, load.directory, a.answerTime)
	if err != nil {
		return 0, fmt.Errorf("start gdb: %w", err)
	}
	in := &injection{debugger: d, attacher: a, plan: plan, dir: dir, load: load}
	watch := watchStandstill(a.options.Proc, plan.Process.PID)
	defer func() {
		failed := d.leave()
		if failed != nil {
			load.keep = true // gdb may still read from there
		}
		if !d.endedWell() {
			failed = errors.Join(failed, a.resume(plan))
		}
		stood, err = watch.end(), errors.Join(err, failed)
	}()
	if _, err := d.say(settings...); err != nil {
		return 0, err
	}
	if runtime.GOARCH == "arm64" {
		// There a called function returns to the program's entry point, which
		// gdb then has to know.
		if _, err := d.say("file /proc/" + strconv.Itoa(plan.Process.PID) + "/exe"); err != nil {
			return 0, err
		}
	}
	return 0, in.untilStarted(ctx)
}

// resume has a process go on that a gdb has left stopped which was ended from
// outside: the stop that it has asked for may come after its end. Where gdb has
// let go by itself there is nothing to do.
func (a *Attacher) resume(plan *Plan) error {
	const looks, between = 100, 20 * time.Millisecond
	for range looks {
		state, err := readStatus(context.Background(), a.options.Proc, strconv.Itoa(plan.Process.PID))
		if err != nil || state.tracer != 0 {
			return nil // it has ended; or somebody has it, and that has been said
		}
		if state.state == 'T' {
			if err := a.options.Table.Signal(context.Background(), plan.Process, syscall.SIGCONT); err != nil {
				return fmt.Errorf("gdb has left it stopped, and it could not be resumed (kill -CONT %d): %w", plan.Process.PID, err)
			}
			return nil
		}
		a.pause(context.Background(), between)
	}
	return nil
}

// How long the process runs between two looks: long enough that looking does
// not slow it down, and less often the longer nothing is found.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 250 * time.Millisecond
)

// untilStarted stops the process, looks for a thread that can be used, and lets
// it go again, until there was one.
func (in *injection) untilStarted(ctx context.Context) error {
	deadline := in.attacher.now().Add(in.attacher.patience)
	for pause := firstPause; ; pause = min(pause*3/2, lastPause) {
		if err := in.attacher.mustStop(ctx, in.dir); err != nil {
			return err
		}
		done, doing, err := in.visit()
		if done || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return &givenUp{"before anything was done", ctx.Err()}
		}
		if in.attacher.now().After(deadline) {
			return fmt.Errorf("blocked in C: for %d s none of its threads waited or was in Python's own code, where another could be started (%s); nothing was done",
				int(in.attacher.patience/time.Second), doing)
		}
		in.attacher.pause(ctx, pause)
	}
}

// visit stops the process once. It does not stand still any more when visit
// returns, whatever happened.
func (in *injection) visit() (done bool, doing string, err error) {
	pid := strconv.Itoa(in.plan.Process.PID)
	said, err := in.say("attach "+pid, "thread find .")
	if err != nil {
		return false, "", err
	}
	defer func() {
		if done && err == nil {
			return // it has been let go
		}
		if _, failed := in.say("detach"); failed != nil && err == nil {
			err = failed
		}
	}()
	state, err := readStatus(context.Background(), in.dir)
	if err != nil {
		return false, "", errors.New("it has ended meanwhile")
	}
	if state.tracer != in.cmd.Process.Pid {
		return false, "", errors.New("gdb could not stop it: " + complaint(said))
	}
	// Now that it is stopped its pid cannot become another's.
	if now, err := in.attacher.options.Table.Identify(in.plan.Process.PID); err != nil || now.StartTime != in.plan.Process.StartTime {
		return false, "", errors.New("it is another process now")
	}
	// Nor can it become another program: what it was when it was looked at may
	// have called exec since.
	if err := in.plan.python.verify(in.dir); err != nil {
		return false, "", err
	}
	threads, err := readThreads(in.dir, in.plan.python)
	if err != nil {
		return false, "", err
	}
	chosen, ok := choose(threads, in.plan.python)
	if !ok {
		if len(threads) > 0 {
			doing = threads[0].String()
		}
		return false, doing, nil
	}
	number := numberOf(chosen, said)
	if number == "" {
		return true, "", fmt.Errorf("gdb does not know thread %d", chosen.id)
	}
	return true, "", in.start(number)
}

// complaint is what gdb says went wrong: what the kernel has answered, or else
// the last thing that it said.
func complaint(said string) string {
	last := "it does not say why"
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(strings.ReplaceAll(line, "(gdb)", ""))
		if strings.HasPrefix(line, "ptrace: ") {
			return firstLines(line)
		}
		if line != "" {
			last = line
		}
	}
	return firstLines(last)
}

var (
	foundThread   = regexp.MustCompile(`(?m)^(?:\(gdb\) )*Thread (\d+) has target id '(?:process |LWP |.*\(LWP )(\d+)\)?'`)
	mappedPage    = regexp.MustCompile(`page (0x[0-9a-f]+)`)
	startedThread = regexp.MustCompile(`started ([0-9]+)\b`)
	pythonRuns    = regexp.MustCompile(`runs ([0-9]+)\b`)
)

// start has the process start the thread, from the one that gdb has chosen:
// memory for it, its code, the thread; and lets go of it. What the functions
// called here leave in errno is undone. A Python that is not initialised, or not
// any more, would die of a thread that asks for the GIL.
func (in *injection) start(number string) error {
	const protection, flags = 0x1 | 0x4, 0x02 | 0x20 // PROT_READ|PROT_EXEC, MAP_PRIVATE|MAP_ANONYMOUS
	// The first two calls wait for nobody: only the one thread moves, which is
	// much less to do where there are many. The last may wait for the heap, which
	// another thread may have been stopped with: there all move.
	if err := in.checkRegisters(); err != nil {
		return err
	}
	said, err := in.say(
		"thread "+number,
		"set scheduler-locking on",
		fmt.Sprintf(`printf "runs %%d\n", ((int(*)(void))%#x)()`, in.address("Py_IsInitialized")),
	)
	if err != nil {
		return err
	}
	if match := pythonRuns.FindStringSubmatch(said); match == nil || match[1] == "0" {
		return errors.New("its Python does not run: it has not begun yet, or is ending; nothing was done")
	}
	said, err = in.say(
		fmt.Sprintf("set $errno_at = ((int*(*)(void))%#x)()", in.address("__errno_location")),
		"set $errno_was = *$errno_at",
		fmt.Sprintf(`printf "page %%#lx\n", ((unsigned long(*)(unsigned long,unsigned long,int,int,int,long))%#x)(0,%d,%d,%d,-1,0)`,
			in.address("mmap"), imageSize, protection, flags),
		"set *$errno_at = $errno_was",
	)
	if err != nil {
		return err
	}
	page, err := hexIn(mappedPage, said)
	if err != nil || page == 0 || page%pageSize != 0 {
		return errors.New("it gets no memory for the payload: " + complaint(said))
	}
	if err := in.write(page); err != nil {
		return err
	}
	said, err = in.say(
		"set scheduler-locking off",
		fmt.Sprintf(`printf "started %%d\n", ((int(*)(unsigned long))%#x)(%#x)`, page+starterAt, page+wordsAt),
		"set *$errno_at = $errno_was",
		"detach",
	)
	if err != nil {
		return err
	}
	match := startedThread.FindStringSubmatch(said)
	if match == nil {
		return errors.New("it cannot start another thread: " + complaint(said))
	}
	if number, err := strconv.Atoi(match[1]); err != nil || number != 0 {
		return fmt.Errorf("it cannot start another thread: %w", syscall.Errno(number))
	}
	return nil
}

func (in *injection) address(name string) uint64 { return in.plan.python.functions[name].address }

// numberOf is gdb's own number for a thread, in what it says of all of them.
func numberOf(chosen thread, said string) string {
	for _, match := range foundThread.FindAllStringSubmatch(said, -1) {
		if match[2] == strconv.Itoa(chosen.id) {
			return match[1]
		}
	}
	return ""
}

// write puts the payload's first step into the process and makes sure of it.
func (in *injection) write(page uint64) error {
	content, err := image(runtime.GOARCH, in.plan.python.functions, page, in.load.text())
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(in.load.directory, imageName), content, 0o600); err != nil {
		return err
	}
	said, err := in.say(fmt.Sprintf("restore %s binary %#x", imageName, page))
	if err != nil {
		return err
	}
	there, err := readMemory(in.dir, page, len(content))
	if err != nil {
		return err
	}
	if !bytes.Equal(there, content) {
		return errors.New("the payload could not be written into it: " + complaint(said))
	}
	return nil
}

func hexIn(pattern *regexp.Regexp, text string) (uint64, error) {
	match := pattern.FindStringSubmatch(text)
	if match == nil {
		return 0, errors.New("no number")
	}
	return strconv.ParseUint(strings.TrimPrefix(match[1], "0x"), 16, 64)
}

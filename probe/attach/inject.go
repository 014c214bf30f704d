package attach

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// settings make gdb read no symbols (a process with PyTorch has gigabytes of
// them), ask no questions, pass on all signals, and undo an interrupted call.
var settings = []string{
	"set confirm off", "set pagination off", "set width 0", "set height 0",
	"set sysroot /dev/null", "set auto-solib-add off", "set print thread-events off",
	"set detach-on-fork on", "set follow-fork-mode parent", "set schedule-multiple off",
	"set unwindonsignal on", "handle all nostop noprint pass",
}

type injection struct {
	*debugger
	attacher *Attacher
	plan     *Plan
	dir      string // /proc/PID
	load     *payload
	stood    time.Duration
	stopped  time.Time // when gdb was asked to stop the process; zero while the process runs
}

// inject starts the payload's thread in a process, by gdb. It returns how long the process may have
// stood still: the sum of the times from a command to stop it until it runs again.
func (a *Attacher) inject(ctx context.Context, plan *Plan, load *payload) (stood time.Duration, err error) {
	dir := filepath.Join(a.proc, strconv.Itoa(plan.Process.PID))
	if err := plan.python.verify(dir); err != nil {
		return 0, err
	}
	d, err := startDebugger(plan.gdb, load.directory, a.answerTime)
	if err != nil {
		return 0, fmt.Errorf("start gdb: %w", err)
	}
	in := &injection{debugger: d, attacher: a, plan: plan, dir: dir, load: load}
	defer func() {
		failed := d.leave()
		if failed != nil {
			load.keep = true // gdb may still read from there
		}
		if !d.endedWell() {
			failed = errors.Join(failed, a.resume(plan))
		}
		in.runs()
		stood, err = in.stood, errors.Join(err, failed)
	}()
	if _, err := d.execute(settings...); err != nil {
		return 0, err
	}
	return 0, in.untilStarted(ctx)
}

// resume continues a process that a killed gdb has left stopped. The stop that gdb requested may
// come after gdb's end, so resume looks for two seconds.
func (a *Attacher) resume(plan *Plan) error {
	const looks, between = 100, 20 * time.Millisecond
	for range looks {
		state, err := readStatus(context.Background(), a.proc, strconv.Itoa(plan.Process.PID))
		if err != nil || state.tracer != 0 {
			return nil // it has exited, or leave has reported the gdb that traces it
		}
		if state.state == 'T' {
			if err := a.table.Signal(context.Background(), plan.Process, syscall.SIGCONT); err != nil {
				return fmt.Errorf("gdb left the process stopped, and it could not be resumed (kill -CONT %d): %w", plan.Process.PID, err)
			}
			return nil
		}
		a.pause(context.Background(), between)
	}
	return nil
}

// How long the process runs between two stops. The pause grows from the first to the last.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = 250 * time.Millisecond
)

// untilStarted stops the process again and again until one of its threads is usable.
func (in *injection) untilStarted(ctx context.Context) error {
	deadline := in.attacher.now().Add(in.attacher.timeout)
	for pause := firstPause; ; pause = min(pause*3/2, lastPause) {
		if err := in.attacher.mustStop(ctx, in.dir); err != nil {
			return err
		}
		done, doing, err := in.tryOnce()
		if done || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return &givenUp{" before anything was done", ctx.Err()}
		}
		if in.attacher.now().After(deadline) {
			return fmt.Errorf("blocked in C: for %d s no thread waited or ran Python's own code, where another can be started (%s); nothing was done",
				int(in.attacher.timeout/time.Second), doing)
		}
		in.attacher.pause(ctx, pause)
	}
}

func (in *injection) runs() {
	if !in.stopped.IsZero() {
		in.stood += in.attacher.now().Sub(in.stopped)
	}
	in.stopped = time.Time{}
}

// tryOnce stops the process once. If it returns no error, the process runs again.
func (in *injection) tryOnce() (done bool, doing string, err error) {
	pid := strconv.Itoa(in.plan.Process.PID)
	in.stopped = in.attacher.now()
	output, err := in.execute("attach "+pid, "thread find .")
	if err != nil {
		return false, "", err
	}
	defer func() {
		if !done || err != nil { // otherwise start has detached
			if _, failed := in.execute("detach"); failed != nil {
				err = cmp.Or(err, failed)
				return
			}
		}
		in.runs()
	}()
	state, err := readStatus(context.Background(), in.dir)
	if err != nil {
		return false, "", errExited
	}
	if state.tracer != in.cmd.Process.Pid {
		return false, "", errors.New("gdb could not stop the process: " + complaint(output))
	}
	// A stopped process keeps its pid.
	if now, err := in.attacher.table.Identify(in.plan.Process.PID); err != nil || now.StartTime != in.plan.Process.StartTime {
		return false, "", errors.New("its PID is another process now")
	}
	// The process may have called exec since it was examined.
	if err := in.plan.python.verify(in.dir); err != nil {
		return false, "", err
	}
	own, err := readStatus(context.Background(), in.attacher.proc, "self")
	if err != nil {
		return false, "", err
	}
	threads, err := readThreads(in.dir, in.plan.python, &own)
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
	number := numberOf(chosen, output)
	if number == "" {
		return true, "", fmt.Errorf("gdb does not know thread %d", chosen.id)
	}
	return true, "", in.start(number)
}

// start makes the chosen thread map memory, writes the code there, starts the new thread, and
// detaches. It restores errno. It checks Py_IsInitialized first: a Python that is not initialised
// would crash on a thread that asks for the GIL.
func (in *injection) start(number string) error {
	const protection, flags = 0x1 | 0x4, 0x02 | 0x20 // PROT_READ|PROT_EXEC, MAP_PRIVATE|MAP_ANONYMOUS
	// The first calls wait for no lock, so only this thread runs: with many threads that is faster.
	// The last call may wait for the heap's lock, which a stopped thread may hold, so all threads
	// run.
	if err := in.checkRegisters(); err != nil {
		return err
	}
	output, err := in.execute(
		"thread "+number,
		"set scheduler-locking on",
		fmt.Sprintf(`printf "runs %%d\n", ((int(*)(void))%#x)()`, in.address("Py_IsInitialized")),
	)
	if err != nil {
		return err
	}
	if runs, ok := numberAfter(pythonRuns(), output); !ok || runs == 0 {
		return errors.New("its Python is starting or ending; nothing was done")
	}
	output, err = in.execute(
		fmt.Sprintf("set $errno_at = ((int*(*)(void))%#x)()", in.address("__errno_location")),
		"set $errno_was = *$errno_at",
		fmt.Sprintf(`printf "page %%#lx\n", ((unsigned long(*)(unsigned long,unsigned long,int,int,int,long))%#x)(0,%d,%d,%d,-1,0)`,
			in.address("mmap"), imageSize(in.load.text), protection, flags),
		"set *$errno_at = $errno_was",
	)
	if err != nil {
		return err
	}
	page, ok := numberAfter(mappedPage(), output)
	if !ok || page == 0 || page%pageSize != 0 {
		return errors.New("no memory for the payload: " + complaint(output))
	}
	if err := in.write(page); err != nil {
		return err
	}
	output, err = in.execute(
		"set scheduler-locking off",
		fmt.Sprintf(`printf "started %%d\n", ((int(*)(unsigned long))%#x)(%#x)`, page+starterAt, page+wordsAt),
		"set *$errno_at = $errno_was",
		"detach",
	)
	if err != nil {
		return err
	}
	code, ok := numberAfter(startedThread(), output)
	if !ok {
		return errors.New("the process cannot start another thread: " + complaint(output))
	}
	if code != 0 {
		return fmt.Errorf("the process cannot start another thread: %w", syscall.Errno(code))
	}
	return nil
}

func (in *injection) address(name string) uint64 { return in.plan.python.functions[name].address }

func (in *injection) write(page uint64) error {
	content, err := image(runtime.GOARCH, in.plan.python.functions, page, in.load.text)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(in.load.directory, imageName), content, 0o600); err != nil {
		return err
	}
	output, err := in.execute(fmt.Sprintf("restore %s binary %#x", imageName, page))
	if err != nil {
		return err
	}
	there, err := readMemory(in.dir, page, len(content))
	if err != nil {
		return err
	}
	if !bytes.Equal(there, content) {
		return errors.New("the payload could not be written: " + complaint(output))
	}
	return nil
}

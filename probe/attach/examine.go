package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/process"
)

// Examine returns how a probe could enter a process, and the reasons against it. It changes nothing.
// It may run gdb, on a shell, and the process's own interpreter, to find out what they can do. For
// another user's process, or one in another container, it runs neither and opens no ELF file of the
// process. So root may examine every process.
func (a *Attacher) Examine(ctx context.Context, id process.Identity) Plan {
	plan := Plan{Process: id}
	info, err := a.table.Look(id.PID)
	switch {
	case id.Foreign():
		plan.fail(id.Whose())
		return plan
	case err != nil:
		plan.fail("it has exited")
		return plan
	case info.Identity.StartTime != id.StartTime:
		plan.fail(fmt.Sprintf("PID %d is another process now", id.PID))
		return plan
	}
	plan.Process, plan.User, plan.Command, plan.Instead = info.Identity, info.User, info.Command, instead(info.Command)
	pid := strconv.Itoa(id.PID)
	state, err := readStatus(ctx, a.proc, pid)
	if err != nil {
		plan.fail("it cannot be read: " + firstLines(err.Error()))
		return plan
	}
	if state.state == 'Z' || state.state == 'X' || info.Ended {
		plan.fail("it has exited, and its parent has not collected it (zombie)")
		return plan
	}
	ours := state.uids[0] == a.uid && state.uids[1] == a.uid && state.uids[2] == a.uid && a.apart(&info) == ""
	found, maps := a.checkPython(ctx, &plan, &info, ours)
	a.checkOwner(&plan, &state)
	a.checkTracing(ctx, &plan)
	if found != nil {
		a.chooseMethod(ctx, &plan, &info)
	}
	a.checkTracer(ctx, &plan, &state)
	a.checkContainer(&plan, &info)
	if found != nil && plan.Method != RemoteExec {
		checkLibrary(&plan, maps)
	}
	a.checkState(ctx, &plan, &state)
	if plan.allows() || ours && found == nil {
		a.checkProbe(ctx, &plan) // a native program may have one as well
	}
	if !plan.allows() {
		plan.Method = None
	}
	return plan
}

func (p *Plan) allows() bool {
	return !slices.ContainsFunc(p.Checks, func(c Check) bool { return !c.OK })
}

// checkPython finds the interpreter. It adds a check only if it finds none.
func (a *Attacher) checkPython(ctx context.Context, plan *Plan, info *process.Info, ours bool) (*python, []mapping) {
	pid := strconv.Itoa(info.Identity.PID)
	executable, err := os.Readlink(filepath.Join(a.proc, pid, "exe"))
	executable = strings.TrimSuffix(executable, " (deleted)")
	var maps []mapping
	if err == nil {
		content, failed := readProc(ctx, mapsSize, a.proc, pid, "maps")
		err, maps = failed, parseMaps(content)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		// checkOwner gives the reason. Only the name can show that the process is not Python.
		if len(info.Command) > 0 && !isPythonName(base(info.Command[0])) {
			plan.fail("not Python: " + base(info.Command[0]))
		}
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		plan.fail("not Python: it is a kernel thread")
		return nil, nil
	case err != nil:
		plan.fail("its memory map cannot be read: " + firstLines(err.Error()))
		return nil, nil
	case !ours:
		if !isPythonName(base(executable)) && !mapsHave(maps, "libpython") {
			plan.fail("not Python: " + executable + " is native code")
		}
		return nil, maps
	}
	found, err := a.findPython(info.Identity.PID, executable, maps)
	switch {
	case err != nil:
		plan.fail("its Python cannot be read (replaced since it was started?): " + firstLines(err.Error()))
		return nil, maps
	case found == nil && (strings.HasPrefix(base(executable), "pypy") || mapsHave(maps, "libpypy")):
		plan.fail("PyPy: only CPython is supported")
		return nil, maps
	case found == nil:
		plan.fail("not Python: " + executable + " is native code")
		return nil, maps
	}
	plan.python, plan.Interpreter = found, executable
	if found.version.micro < 0 && isPythonName(base(executable)) {
		if run := a.runnable(info.Identity.PID, executable); run != "" {
			if v, ok := askVersion(ctx, run); ok && (!found.version.known() || v.minor == found.version.minor) {
				found.version = v
			}
		}
	}
	plan.Version = found.version.String()
	return found, maps
}

func mapsHave(maps []mapping, prefix string) bool {
	return slices.ContainsFunc(maps, func(m mapping) bool { return strings.HasPrefix(base(m.path), prefix) })
}

// checkOwner requires the process to be the user's own, even for root: the probe runs with the
// rights of the process.
func (a *Attacher) checkOwner(plan *Plan, state *status) {
	owner := state.uids[1]
	switch {
	case owner != a.uid:
		name := cmp.Or(a.table.UserName(owner), strconv.FormatUint(uint64(owner), 10))
		plan.fail(fmt.Sprintf("another user's process (%s); you are %s", name, a.table.Host(time.Time{}).User))
	case state.uids[0] != owner || state.uids[2] != owner:
		plan.fail("it has changed its user: the kernel does not allow tracing it")
	default:
		plan.pass("your own process")
	}
}

// capSysPtrace is the number of the capability that allows ptrace where Yama restricts it.
// Source: https://www.kernel.org/doc/html/latest/admin-guide/LSM/Yama.html
const capSysPtrace = 19

// checkTracing checks the kernel's rules for ptrace, on which both methods depend.
func (a *Attacher) checkTracing(ctx context.Context, plan *Plan) {
	content, err := readProc(ctx, 64, a.proc, "sys/kernel/yama/ptrace_scope")
	if err != nil {
		plan.pass("ptrace allowed (no Yama)")
		return
	}
	self, err := readStatus(ctx, a.proc, "self")
	capable := err == nil && a.uid == 0 && self.caps>>capSysPtrace&1 == 1
	switch scope := strings.TrimSpace(content); {
	case scope == "0":
		plan.pass("ptrace allowed (scope 0)")
	case scope == "3":
		plan.fail("ptrace is off on this machine until it restarts (ptrace_scope 3)")
	case capable:
		plan.pass("ptrace allowed (scope " + scope + ", as root)")
	case a.uid == 0:
		plan.fail("ptrace is restricted (ptrace_scope " + scope + "), and this root lacks CAP_SYS_PTRACE")
	default:
		plan.fail("ptrace is restricted (ptrace_scope " + scope + "): sudo sysctl kernel.yama.ptrace_scope=0")
	}
}

func (a *Attacher) checkTracer(ctx context.Context, plan *Plan, state *status) {
	if state.tracer == 0 {
		plan.pass("no other tracer")
		return
	}
	name, err := readProc(ctx, 64, a.proc, strconv.Itoa(state.tracer), "comm")
	if err != nil {
		name = "a process"
	}
	plan.fail(fmt.Sprintf("it is traced by %s (PID %d)", strings.TrimSpace(name), state.tracer))
}

// checkLibrary accepts glibc only.
func checkLibrary(plan *Plan, maps []mapping) {
	for _, path := range files(maps) {
		switch {
		case strings.HasPrefix(base(path), "ld-musl-"), strings.HasPrefix(base(path), "libc.musl-"): // loader and C library in one file
			plan.fail("musl: only glibc is supported")
			return
		case isGlibc(path):
			plan.pass("glibc")
			return
		}
	}
	plan.fail("no glibc: only glibc is supported")
}

func (a *Attacher) checkState(ctx context.Context, plan *Plan, state *status) {
	if state.state == 'T' {
		plan.fail(fmt.Sprintf("it is stopped: kill -CONT %d", plan.Process.PID))
		return
	}
	if state.dumping {
		plan.fail("it has crashed: its core dump is being written")
	}
	if a.frozen(ctx, plan.Process.PID) {
		plan.fail("it is frozen with its container")
	}
	if plan.Method == GDB {
		checkThreads(plan, state)
	}
	if plan.python != nil {
		a.checkHindrance(ctx, plan, state)
	}
}

func (a *Attacher) checkProbe(ctx context.Context, plan *Plan) {
	if a.finder == nil {
		return
	}
	if err := a.greet(ctx, plan.Process); err == nil {
		plan.HasProbe = true
		plan.fail(hasProbe)
	}
}

const hasProbe = "it has a probe already"

func (a *Attacher) chooseMethod(ctx context.Context, plan *Plan, info *process.Info) {
	found := plan.python
	switch {
	case found.version.known() && !found.version.atLeast(3, 8):
		plan.fail("Python " + plan.Version + ": the probe needs 3.8 or newer")
		plan.Instead = "" // vramscope run would not help either
	case !found.version.known():
		plan.fail("its Python version is unknown")
	case found.version.atLeast(3, 14):
		a.checkRemoteExec(ctx, plan, info)
	case found.freeThreaded:
		plan.fail("free-threaded Python " + plan.Version + ": supported from 3.14 on")
	case len(found.missing) > 0:
		plan.fail("its Python does not export " + strings.Join(found.missing, ", "))
	case stubs[runtime.GOARCH] == nil:
		plan.fail("not supported on " + runtime.GOARCH)
	default:
		plan.Method = GDB
		a.checkGdb(ctx, plan)
	}
}

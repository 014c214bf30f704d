package attach

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/process"
)

// Examine finds out how a probe would get into a process, and everything that
// stands against it, not the first reason alone. It changes nothing, and runs
// at most gdb and the process's own interpreter, to be told their versions: of
// a process that is not the user's own, or in another container, nothing is run
// and no file is opened, so that root may look at everybody's.
func (a *Attacher) Examine(ctx context.Context, id process.Identity) Plan {
	plan := Plan{Process: id}
	info, err := a.options.Table.Look(id.PID)
	switch {
	case id.Foreign():
		plan.fail("another container's process: it is not in this /proc")
		return plan
	case err != nil:
		plan.fail("it has ended")
		return plan
	case info.Identity.StartTime != id.StartTime:
		plan.fail(fmt.Sprintf("PID %d is another process now", id.PID))
		return plan
	}
	plan.Process, plan.User, plan.Command, plan.Instead = info.Identity, info.User, info.Command, instead(info.Command)
	pid := strconv.Itoa(id.PID)
	state, err := readStatus(ctx, a.options.Proc, pid)
	if err != nil {
		plan.fail("it cannot be read: " + firstLines(err.Error()))
		return plan
	}
	if state.state == 'Z' || state.state == 'X' || info.Ended {
		plan.fail("it has ended: only its parent has not taken notice yet")
		return plan
	}
	ours := state.uids[0] == a.uid && state.uids[1] == a.uid && state.uids[2] == a.uid && a.apart(&info) == ""
	found, maps := a.checkPython(ctx, &plan, &info, ours)
	a.checkOwner(&plan, &info, &state)
	a.checkTracing(ctx, &plan)
	if found != nil {
		a.checkWay(ctx, &plan, &info)
	}
	a.checkTracer(ctx, &plan, &state)
	a.checkContainer(&plan, &info)
	if found != nil && plan.Method != RemoteExec {
		checkLibrary(&plan, maps)
	}
	a.checkState(ctx, &plan, &state)
	if plan.allows() || ours && found == nil {
		a.checkProbe(ctx, &plan) // a native program may have one as well: then there is nothing to be advised
	}
	if !plan.allows() {
		plan.Method = None
	}
	return plan
}

// allows reports whether no check has failed.
func (p *Plan) allows() bool {
	for _, check := range p.Checks {
		if !check.OK {
			return false
		}
	}
	return true
}

// checkPython finds the interpreter. That there is one is no line of its own.
func (a *Attacher) checkPython(ctx context.Context, plan *Plan, info *process.Info, ours bool) (*python, []mapping) {
	pid := strconv.Itoa(info.Identity.PID)
	executable, err := os.Readlink(filepath.Join(a.options.Proc, pid, "exe"))
	executable = strings.TrimSuffix(executable, " (deleted)")
	var maps []mapping
	if err == nil {
		content, failed := readProc(ctx, mapsSize, a.options.Proc, pid, "maps")
		err, maps = failed, parseMaps(content)
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		// Whose it is says why. By its name it may be Python nevertheless.
		if len(info.Command) > 0 && !isPythonName(base(info.Command[0])) {
			plan.fail("not Python: " + base(info.Command[0]))
		}
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		plan.fail("not Python: it is a thread of the kernel")
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
		plan.fail("PyPy: there is no way into it, only into CPython")
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
	for _, m := range maps {
		if strings.HasPrefix(base(m.path), prefix) {
			return true
		}
	}
	return false
}

// checkOwner lets a user at its own processes alone, root too: what is attached
// runs with the rights of whoever it is attached to.
func (a *Attacher) checkOwner(plan *Plan, info *process.Info, state *status) {
	owner := state.uids[1]
	switch {
	case owner != a.uid:
		name := info.User
		if name == "" {
			name = strconv.FormatUint(uint64(owner), 10)
		}
		plan.fail(fmt.Sprintf("another user's process (%s); you are %s", name, a.options.Table.Host(time.Time{}).User))
	case state.uids[0] != owner || state.uids[2] != owner:
		plan.fail("it has changed its user: the kernel lets nobody trace it")
	default:
		plan.pass("your own process")
	}
}

// The capability that ptrace asks for where it is restricted.
// Source: https://www.kernel.org/doc/html/latest/admin-guide/LSM/Yama.html
const capSysPtrace = 19

// checkTracing asks what the kernel's rules for ptrace are. Both ways need it.
func (a *Attacher) checkTracing(ctx context.Context, plan *Plan) {
	content, err := readProc(ctx, 64, a.options.Proc, "sys/kernel/yama/ptrace_scope")
	if err != nil {
		plan.pass("ptrace allowed (no Yama)")
		return
	}
	self, err := readStatus(ctx, a.options.Proc, "self")
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

// checkTracer makes sure that nobody else traces it.
func (a *Attacher) checkTracer(ctx context.Context, plan *Plan, state *status) {
	if state.tracer == 0 {
		plan.pass("nobody else traces it")
		return
	}
	name, err := readProc(ctx, 64, a.options.Proc, strconv.Itoa(state.tracer), "comm")
	if err != nil {
		name = "a process"
	}
	plan.fail(fmt.Sprintf("it is traced by %s (PID %d)", strings.TrimSpace(name), state.tracer))
}

// checkContainer says where it is.
func (a *Attacher) checkContainer(plan *Plan, info *process.Info) {
	switch reason := a.apart(info); {
	case reason == "":
		plan.pass("same container")
	case reason != cannotTell || plan.allows(): // another user's, usually: that has been said
		plan.fail(reason)
	}
}

const cannotTell = "whether it is in this container is unknown"

// apart compares what the process sees with what we see, and says where that is
// not the same. A debugger across that border would look for files that are not
// there.
func (a *Attacher) apart(info *process.Info) string {
	its, ours := filepath.Join(a.options.Proc, strconv.Itoa(info.Identity.PID)), filepath.Join(a.options.Proc, "self")
	for _, namespace := range []string{"mnt", "pid", "user"} {
		a, err := os.Readlink(filepath.Join(its, "ns", namespace))
		b, failed := os.Readlink(filepath.Join(ours, "ns", namespace))
		if err != nil || failed != nil {
			return cannotTell
		}
		if a != b {
			text := "another container's process"
			if job := info.Job.String(); job != "" {
				text += " (" + job + ")"
			}
			return text + ": run vramscope inside of it"
		}
	}
	a1, err1 := os.Stat(filepath.Join(its, "root") + "/")
	a2, err2 := os.Stat(filepath.Join(ours, "root") + "/")
	if err1 == nil && err2 == nil && os.SameFile(a1, a2) {
		return ""
	}
	return "it has a root directory of its own (chroot): run vramscope inside of it"
}

// checkLibrary accepts the one C library whose ways are known.
func checkLibrary(plan *Plan, maps []mapping) {
	for _, path := range files(maps) {
		switch {
		case isMusl(path):
			plan.fail("musl: a way in is known with glibc only")
			return
		case isGlibc(path):
			plan.pass("glibc")
			return
		}
	}
	plan.fail("no glibc: a way in is known with glibc only")
}

// checkState asks whether code could run in it at all.
func (a *Attacher) checkState(ctx context.Context, plan *Plan, state *status) {
	if state.state == 'T' {
		plan.fail(fmt.Sprintf("it is stopped, and nothing runs in it: kill -CONT %d", plan.Process.PID))
		return
	}
	if state.dumping {
		plan.fail("it has crashed: its core is being written")
	}
	if a.frozen(ctx, plan.Process.PID) {
		plan.fail("it is frozen with its container, and nothing runs in it")
	}
	if plan.Method == GDB {
		checkThreads(plan, state)
	}
}

// checkProbe asks whether a probe answers already.
func (a *Attacher) checkProbe(ctx context.Context, plan *Plan) {
	if a.options.Finder == nil {
		return
	}
	if _, err := a.greet(ctx, plan.Process); err == nil {
		plan.HasProbe = true
		plan.fail("it has a probe already")
	}
}

// checkWay chooses the method by the interpreter's version.
func (a *Attacher) checkWay(ctx context.Context, plan *Plan, info *process.Info) {
	found := plan.python
	switch {
	case found.version.known() && !found.version.atLeast(3, 8):
		plan.fail("Python " + plan.Version + ": the probe needs 3.8 or newer")
		plan.Instead = "" // it would not get one there either
	case !found.version.known():
		plan.fail("its Python version is unknown")
	case found.version.atLeast(3, 14):
		a.checkRemoteExec(ctx, plan, info)
	case found.freeThreaded:
		plan.fail("a free-threaded Python " + plan.Version + ": there is a way in from 3.14 on")
	case len(found.missing) > 0:
		plan.fail("its Python does not export " + strings.Join(found.missing, ", "))
	case stubs[runtime.GOARCH] == nil:
		plan.fail("no way in is known on " + runtime.GOARCH)
	default:
		plan.Method = GDB
		a.checkGdb(ctx, plan)
	}
}

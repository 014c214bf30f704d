//go:build linux

package attach

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"vramscope/internal/needs"
	"vramscope/internal/process"
)

func texts(plan *Plan, ok bool) []string {
	found := []string{}
	for _, check := range plan.Checks {
		if check.OK == ok {
			found = append(found, check.Text)
		}
	}
	return found
}

func TestExaminePossible(t *testing.T) {
	if stubs[runtime.GOARCH] == nil {
		t.Skip("gdb attaching is not supported on " + runtime.GOARCH)
	}
	f := newFixture(t)
	plan := f.examined()
	want := []string{
		"your own process", "ptrace allowed (scope 0)", "gdb 14.2 at " + f.gdb,
		"no other tracer", "same container", "glibc", "no seccomp filters of its own",
	}
	if got := texts(&plan, true); !reflect.DeepEqual(got, want) {
		t.Errorf("checks\n%q, want\n%q", got, want)
	}
	if !plan.Possible() || plan.Method != GDB || plan.Version != "3.11.9" || !strings.HasSuffix(plan.Interpreter, "/opt/python3.11") {
		t.Errorf("%+v, %v", plan, plan.Refusal())
	}
	if plan.Instead != "vramscope run -- /opt/python3.11 -u /home/bob/eval.py --suite mmlu" {
		t.Errorf("instead: %q", plan.Instead)
	}
	// A function's address in the process is the file's address plus the base.
	start := plan.python.functions["PyGILState_Ensure"]
	if start.address < 0x7f0000000000 || len(start.head) != headSize || len(plan.python.functions) != len(pythonNames)+len(libraryNames) {
		t.Errorf("functions %+v", plan.python.functions)
	}
	inside := false
	for _, m := range plan.python.text {
		inside = inside || m.start <= start.address && start.address < m.end
	}
	if !inside {
		t.Errorf("%#x is not in the code %+v", start.address, plan.python.text)
	}
}

func TestExamineListsEveryReason(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fixture)
		want   []string
	}{
		"native": {func(f *fixture) {
			f.maps = ""
			f.compiled("/opt/tritonserver", 0, "main")
			f.runs("/opt/tritonserver", "tritonserver", "--model-repository=/models")
		}, []string{"not Python: ROOT/opt/tritonserver is native code"}},
		"another user's": {func(f *fixture) { f.status["Uid"] = "4242\t4242\t4242\t4242" }, []string{"another user's process (4242); you are SELF"}},
		"setuid":         {func(f *fixture) { f.status["Uid"] = "0\t1000\t1000\t1000" }, []string{"it has changed its user: the kernel does not allow tracing it"}},
		"scope 1":        {func(f *fixture) { f.write("1\n", f.proc, "sys/kernel/yama/ptrace_scope") }, []string{"ptrace is restricted (ptrace_scope 1): sudo sysctl kernel.yama.ptrace_scope=0"}},
		"scope 3":        {func(f *fixture) { f.write("3\n", f.proc, "sys/kernel/yama/ptrace_scope") }, []string{"ptrace is off on this machine until it restarts (ptrace_scope 3)"}},
		"no gdb":         {func(f *fixture) { f.gdb += "-not-there" }, []string{"no gdb on PATH, which Python 3.11.9 needs: apt install gdb (or dnf)"}},
		"broken gdb":     {func(f *fixture) { f.write("#!/bin/sh\necho no libpython >&2; exit 127\n", f.gdb) }, []string{"GDB does not start: exit status 127: no libpython"}},
		"traced": {func(f *fixture) {
			f.status["TracerPid"] = "77"
			f.write("strace\n", f.proc, "77", "comm")
		}, []string{"it is traced by strace (PID 77)"}},
		"stopped": {func(f *fixture) { f.status["State"] = "T (stopped)" }, []string{"it is stopped: kill -CONT 500"}},
		"zombie":  {func(f *fixture) { f.status["State"] = "Z (zombie)" }, []string{"it has exited, and its parent has not collected it (zombie)"}},
		"container": {func(f *fixture) {
			f.link("mnt:[2]", f.of("ns/mnt"))
			f.link("/", f.proc, "self/root")
		}, []string{"another container's process: run vramscope inside it"}},
		"pid namespace": {func(f *fixture) {
			f.link("pid:[2]", f.of("ns/pid"))
			f.write("0::/system.slice/docker-"+strings.Repeat("4f", 32)+".scope\n", f.of("cgroup"))
		}, []string{"another container's process (docker 4f4f4f4f4f4f): run vramscope inside it"}},
		"chroot":        {func(f *fixture) { f.link("/", f.proc, "self/root") }, []string{"it has its own root directory (chroot): run vramscope inside it"}},
		"a core dump":   {func(f *fixture) { f.status["CoreDumping"] = "1" }, []string{"it has crashed: its core dump is being written"}},
		"shadow stacks": {func(f *fixture) { f.status["x86_Thread_features"] = "shstk wrss" }, []string{"it has shadow stacks, which a debugger's calls break"}},
		"many threads":  {func(f *fixture) { f.status["Threads"] = "5001" }, []string{"it has 5001 threads: stopping them takes seconds"}},
		"paused": {func(f *fixture) {
			f.write("4:memory:/x\n0::/pod/a:b\n", f.of("cgroup"))
			f.write("populated 1\nfrozen 1\n", f.root, "cgroup/pod/a:b/cgroup.events")
		}, []string{"it is frozen with its container"}},
		"paused with cgroup v1": {func(f *fixture) {
			f.write("6:freezer:/pod\n0::/\n", f.of("cgroup"))
			f.write("FROZEN\n", f.root, "cgroup/freezer/pod/freezer.state")
		}, []string{"it is frozen with its container"}},
		"musl": {func(f *fixture) {
			f.maps = f.maps[:strings.Index(f.maps, "/lib/libc.so.6")]
			f.maps = f.maps[:strings.LastIndexByte(f.maps, '\n')+1]
			f.mapped("/lib/ld-musl-x86_64.so.1")
		}, []string{"musl: only glibc is supported"}},
		"no libc": {func(f *fixture) {
			f.maps = f.maps[:strings.Index(f.maps, "/lib/libc.so.6")]
			f.maps = f.maps[:strings.LastIndexByte(f.maps, '\n')+1]
		}, []string{"no glibc: only glibc is supported"}},
		"too old": {func(f *fixture) {
			f.maps = ""
			f.compiled("/opt/python3.7", 0, everything...)
			f.runs("/opt/python3.7", "python3.7", "x.py")
			f.mapped("/lib/libc.so.6")
		}, []string{"Python 3.7: the probe needs 3.8 or newer"}},
		"free-threaded": {func(f *fixture) {
			f.maps = ""
			f.compiled("/opt/python3.13t", 0x030d00f0, append([]string{"_Py_MergeZeroLocalRefcount"}, everything...)...)
			f.runs("/opt/python3.13t", "python3.13t", "x.py")
			f.mapped("/lib/libc.so.6")
		}, []string{"free-threaded Python 3.13.0: supported from 3.14 on"}},
		"no exports": {func(f *fixture) {
			f.maps = ""
			f.compiled("/opt/python3.11", 0x030b09f0, "Py_BytesMain", "PyRun_SimpleString", "PyGILState_Ensure")
			f.runs("/opt/python3.11", "python3.11", "x.py")
			f.mapped("/lib/libc.so.6")
		}, []string{"its Python does not export Py_IsInitialized, PyGILState_Release"}},
		"no version": {func(f *fixture) {
			f.maps = ""
			f.compiled("/opt/blender", 0, everything...)
			f.runs("/opt/blender", "blender")
			f.mapped("/lib/libc.so.6")
		}, []string{"its Python version is unknown"}},
		"embedded 3.14": {func(f *fixture) {
			f.maps = ""
			f.compiled("/opt/blender", 0x030e02f0, everything...)
			f.runs("/opt/blender", "blender")
		}, []string{"Python 3.14.2 is embedded in blender: sys.remote_exec needs an interpreter of the same build"}},
		"3.14 disabled by option": {func(f *fixture) {
			f.maps = ""
			f.compiled("/opt/python3.14", 0x030e02f0, everything...)
			f.runs("/opt/python3.14", "python3.14", "-X", "disable_remote_debug", "x.py")
		}, []string{"it was started with -X disable_remote_debug"}},
		"3.14 disabled by environment": {func(f *fixture) {
			f.maps = ""
			f.compiled("/opt/python3.14", 0x030e02f0, everything...)
			f.runs("/opt/python3.14", "python3.14", "x.py", "-X", "disable_remote_debug")
			f.write("A=1\x00PYTHON_DISABLE_REMOTE_DEBUG=yes\x00", f.of("environ"))
		}, []string{"it was started with PYTHON_DISABLE_REMOTE_DEBUG"}},
		"PyPy": {func(f *fixture) {
			f.maps = ""
			f.compiled("/opt/pypy3.10", 0, "pypy_main")
			f.runs("/opt/pypy3.10", "pypy3.10", "x.py")
		}, []string{"PyPy: only CPython is supported"}},
		"several": {func(f *fixture) {
			f.maps = ""
			f.compiled("/opt/tritonserver", 0, "main")
			f.runs("/opt/tritonserver", "tritonserver")
			f.status["Uid"] = "4242\t4242\t4242\t4242"
			f.status["TracerPid"] = "77"
			f.write("2\n", f.proc, "sys/kernel/yama/ptrace_scope")
			f.link("pid:[2]", f.of("ns/pid"))
		}, []string{
			"not Python: ROOT/opt/tritonserver is native code", "another user's process (4242); you are SELF",
			"ptrace is restricted (ptrace_scope 2): sudo sysctl kernel.yama.ptrace_scope=0", "it is traced by a process (PID 77)",
			"another container's process: run vramscope inside it",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			c.change(f)
			a := f.attacher()
			plan := a.Examine(t.Context(), process.Identity{PID: fixturePID, StartTime: fixtureStart})
			self := a.table.Host(a.now()).User
			for i := range c.want {
				c.want[i] = strings.NewReplacer("ROOT", f.root, "GDB", f.gdb, "SELF", self).Replace(c.want[i])
			}
			if got := texts(&plan, false); !reflect.DeepEqual(got, c.want) {
				t.Errorf("reasons\n%q, want\n%q", got, c.want)
			}
			if name == "too old" && plan.Instead != "" {
				t.Errorf("advice %q, which would not help", plan.Instead)
			}
			if plan.Possible() || plan.Method != None {
				t.Errorf("possible: %+v", plan)
			}
			if refusal := plan.Refusal(); refusal == nil || refusal.Reason != strings.Join(c.want, "; ") {
				t.Errorf("refusal %v", refusal)
			}
		})
	}
}

func TestExamineFindsEmbeddedPython(t *testing.T) {
	if stubs[runtime.GOARCH] == nil {
		t.Skip("gdb attaching is not supported on " + runtime.GOARCH)
	}
	f := bareFixture(t)
	f.compiled("/opt/uwsgi", 0, "main")
	f.runs("/opt/uwsgi", "uwsgi", "--ini", "app.ini")
	f.compiled("/usr/lib/libpython3.9.so.1.0", 0, everything...)
	f.mapped("/usr/lib/libpython3.9.so.1.0")
	f.compiled("/lib/libc-2.31.so", 0, libraryNames[:]...)
	f.mapped("/lib/libc-2.31.so")
	plan := f.examined()
	if !plan.Possible() || plan.Version != "3.9" || plan.Instead != "vramscope run -- uwsgi --ini app.ini" {
		t.Errorf("%+v, %v", plan, plan.Refusal())
	}
}

func TestExamineChecksIdentity(t *testing.T) {
	f := newFixture(t)
	a := f.attacher()
	for _, c := range []struct {
		id   process.Identity
		want string
	}{
		{process.Identity{PID: fixturePID, StartTime: 49999}, "PID 500 is another process now"},
		{process.Identity{PID: 501, StartTime: 1}, "it has exited"},
		{process.Identity{PID: fixturePID}, "another container's process"},
	} {
		plan := a.Examine(t.Context(), c.id)
		if refusal := plan.Refusal(); refusal == nil || refusal.Reason != c.want {
			t.Errorf("%+v: %v, want %q", c.id, refusal, c.want)
		}
	}
}

func TestVerifyDetectsReplacedFile(t *testing.T) {
	if stubs[runtime.GOARCH] == nil {
		t.Skip("gdb attaching is not supported on " + runtime.GOARCH)
	}
	f := newFixture(t)
	plan := f.examined()
	dir := t.TempDir()
	f.write(strings.Repeat("\x90", 64), dir, "mem")
	for name, function := range plan.python.functions {
		function.address = 8
		plan.python.functions[name] = function
	}
	if err := plan.python.verify(dir); err == nil || !strings.Contains(err.Error(), "the file was replaced, or the process patched") {
		t.Errorf("got %v", err)
	}
	if err := plan.python.verify(filepath.Join(dir, "none")); err == nil {
		t.Error("unreadable memory was verified")
	}
}

// TestExamineRunsOnlyOwnPrograms: if root examines another user's process, its python3.9 may be any
// program.
func TestExamineRunsOnlyOwnPrograms(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fixture)
		runs   bool
	}{
		"own process":    {func(*fixture) {}, true},
		"another user's": {func(f *fixture) { f.status["Uid"] = "4242\t4242\t4242\t4242" }, false},
		"setuid":         {func(f *fixture) { f.status["Uid"] = "1000\t1000\t4242\t1000" }, false},
		"own mounts":     {func(f *fixture) { f.link("mnt:[2]", f.of("ns/mnt")) }, true},
		"in a container": {func(f *fixture) { f.link("pid:[2]", f.of("ns/pid")) }, false},
		"in a chroot":    {func(f *fixture) { f.link("/", f.proc, "self/root") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := bareFixture(t)
			compiler := needs.Tool(t, "cc")
			mark, program := filepath.Join(t.TempDir(), "executed"), filepath.Join(f.root, "opt/python3.9")
			f.write("", program)
			source := filepath.Join(t.TempDir(), "python.c")
			f.write("#include <stdio.h>\nint Py_BytesMain(void) { return 0; }\n"+
				"int main(void) { fopen(\""+mark+"\", \"w\"); puts(\"Python 3.9.18\"); return 0; }\n"+
				"__asm__(\".text\\n.globl padding\\npadding: .space 64\");\n", source)
			if out, err := exec.Command(compiler, "-rdynamic", "-o", program, source).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			f.runs("/opt/python3.9", "python3.9", "x.py")
			c.change(f)
			plan := f.examined()
			_, err := os.Stat(mark)
			if ran := err == nil; ran != c.runs {
				t.Errorf("executed: %v; %+v", ran, plan.Checks)
			}
		})
	}
}

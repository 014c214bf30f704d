//go:build linux

package attach

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// onThread runs the text in the file that the program is called with on a thread of
// its own, as gdb does, until that has ended or serves.
const onThread = `
def __run():
    import builtins, sys, threading, time, types
    thread = threading.Thread(target=types.FunctionType(builtins.compile(builtins.open(sys.argv[1], "rb").read(), "<string>", "exec"), globals()), daemon=True)
    thread.start()
    while thread.is_alive() and not getattr(getattr(sys.modules.get("vramscope_probe"), "_agent", None), "serving", False):
        time.sleep(0.01)
__run()
`

// textFile is a file with a text: an argument has room for 128 KiB.
func textFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPayloadInHostilePath: neither the path of the temporary directory nor the
// program's own names change what runs.
func TestPayloadInHostilePath(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	python := needs.Tool(t, "python3")
	scratch := filepath.Join(t.TempDir(), "a'); print(\"b\\\n\xff é {x} % ")
	if err := os.Mkdir(scratch, 0o700); err != nil {
		t.Skipf("this file system does not support the name: %v", err)
	}
	t.Setenv("TMPDIR", scratch)
	p, err := newPayload(born{}, &status{})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(p.directory); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its directory: %v, %v", info, err)
	}
	run := func(before string) string {
		cmd := exec.Command(python, "-c", before+onThread+"\nprint(open, sorted(n for n in globals() if not n.startswith('__')))", textFile(t, p.text))
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir(), "PYTHONPATH=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := run("open = exec = compile = 7"); out != "7 ['compile', 'exec', 'open']\n" {
		t.Errorf("the program's names are %s", out)
	}
	if !p.begun() || p.failure() != "" {
		t.Errorf("begun %v, failure %q", p.begun(), p.failure())
	}
	// A failure is reported in the directory only.
	if err := os.WriteFile(filepath.Join(p.directory, claimName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run("import sys, types\nsys.modules['vramscope_probe'] = types.ModuleType('vramscope_probe')"); strings.Contains(out, "rror") {
		t.Errorf("the program prints %s", out)
	}
	if !p.begun() || p.failure() != "another probe is being started in it; try again" {
		t.Errorf("begun %v, failure %q", p.begun(), p.failure())
	}
	// A thread of the program that imports the module meanwhile finds all of it or nothing.
	if err := os.WriteFile(filepath.Join(p.directory, claimName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const watch = "import atexit, builtins, sys\nseen, original = [], exec\n" +
		"def watch(*arguments):\n seen.append('vramscope_probe' in sys.modules)\n original(*arguments)\n" +
		"builtins.exec = watch\natexit.register(lambda: print(seen[:2], 'vramscope_probe' in sys.modules))"
	if out := run(watch); !strings.HasSuffix(out, "[False, False] True\n") {
		t.Errorf("the program sees %s", out)
	}
	// After remove nothing happens.
	p.remove()
	if out := run("pass"); out != "<built-in function open> []\n" {
		t.Errorf("the program prints %s", out)
	}
	if _, err := os.Stat(p.directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory still exists: %v", err)
	}
}

// TestRemoveKeepsEmptyScriptForProcess: Python would report a missing script in the
// program's own output.
func TestRemoveKeepsEmptyScriptForProcess(t *testing.T) {
	p, err := newPayload(born{5, 6}, &status{})
	if err != nil {
		t.Fatal(err)
	}
	p.late = true
	p.remove()
	entries, err := os.ReadDir(p.directory)
	if err != nil || len(entries) != 1 || entries[0].Name() != scriptName {
		t.Fatalf("%v remains, %v", entries, err)
	}
	if content, err := os.ReadFile(filepath.Join(p.directory, scriptName)); err != nil || len(content) > 0 {
		t.Errorf("the script is %q, %v", content, err)
	}
	p.late = false
	p.remove()
	if _, err := os.Stat(p.directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory remains: %v", err)
	}
}

// TestPayloadRarelyLetsGoOfTheGIL: at each system call of the payload C code may take
// the GIL for a second. What Python and the C library do all the time is not counted.
func TestPayloadRarelyLetsGoOfTheGIL(t *testing.T) {
	strace := needs.Tool(t, "strace")
	held := map[string]bool{"futex": true, "mmap": true, "munmap": true, "mprotect": true, "madvise": true, "brk": true, "rt_sigprocmask": true, "gettid": true, "getpid": true, "geteuid": true, "lseek": true}
	for version, python := range anyPythons(t) {
		p, err := newPayload(born{}, &status{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.remove()
		log := filepath.Join(t.TempDir(), "log")
		// What a program that uses a GPU has imported.
		const program = "import ctypes, fcntl, json, pickle, select, socket, struct" + onThread + "\nprint(sys.getswitchinterval(), hasattr(sys, 'vramscope_attach'))"
		cmd := exec.Command(strace, "-f", "-o", log, python, "-c", "import sys\n"+program, textFile(t, keepGIL+p.text))
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir(), "PYTHONPATH=")
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "0.005 False\n" {
			t.Fatalf("Python %s: %v, %s", version, err, out)
		}
		content, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		const most = 40 // of these a dozen read /proc and a library with the GIL held
		var thread string
		var calls []string
		for line := range strings.Lines(string(content)) {
			id, call, _ := strings.Cut(line, " ")
			call = strings.TrimSpace(call)
			switch name, _, _ := strings.Cut(call, "("); {
			case name == "unlink" && strings.Contains(call, claimName):
				thread = id
			case id == thread && name == "listen":
				thread = "listens"
			case id == thread && !held[name] && !strings.HasPrefix(name, "<..."):
				calls = append(calls, call)
			}
		}
		if thread != "listens" || len(calls) > most {
			t.Errorf("Python %s: %s, %d calls before the probe listens, at most %d:\n%s", version, thread, len(calls), most, strings.Join(calls, "\n"))
		}
	}
}

// TestSwitchIntervalIsTakenBack: however many attach at once, and in a child that is
// forked meanwhile.
func TestSwitchIntervalIsTakenBack(t *testing.T) {
	for version, python := range anyPythons(t) {
		p, err := newPayload(born{}, &status{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.remove()
		const child = "import os, sys\nif not os.fork():\n print(sys.getswitchinterval(), hasattr(sys, 'vramscope_attach'), flush=True)\n os._exit(0)\nos.wait()\n"
		const program = "import sys" + onThread + "\nprint(sys.getswitchinterval(), hasattr(sys, 'vramscope_attach'))"
		cmd := exec.Command(python, "-c", program, textFile(t, keepGIL+keepGIL+child+p.text))
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir(), "PYTHONPATH=")
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "0.005 False\n0.005 False\n" {
			t.Errorf("Python %s: %v: the child's and the program's are\n%s", version, err, out)
		}
	}
}

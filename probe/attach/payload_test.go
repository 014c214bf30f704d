//go:build linux

package attach

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vramscope/internal/needs"
	"vramscope/probe"
)

// onThread runs the text of a file on a thread of its own, as gdb does, until the thread has ended
// or serves. The file is the program's argument.
const onThread = `
def __run():
    import builtins, sys, threading, time, types
    thread = threading.Thread(target=types.FunctionType(builtins.compile(builtins.open(sys.argv[1], "rb").read(), "<string>", "exec"), globals()), daemon=True)
    thread.start()
    while thread.is_alive() and not [f for f in sys.meta_path if getattr(f, "__name__", "") == "_ImportHook" and f.find_spec.__globals__["_agent"].serving]:
        time.sleep(0.01)
__run()
`

// textFile returns a file with a text, because an argument has room for only 128 KiB.
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
	p, err := newPayload(false, &status{}, "", "")
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
	// The program sees nothing in sys.modules, and imports the probe that serves.
	if err := os.WriteFile(filepath.Join(p.directory, claimName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const watch = "import atexit, builtins, sys\nseen, original = [], exec\n" +
		"def watch(*arguments):\n seen.append('vramscope_probe' in sys.modules)\n original(*arguments)\n" +
		"builtins.exec = watch\natexit.register(lambda: print(seen[:2], 'vramscope_probe' in sys.modules, __import__('vramscope_probe')._agent.serving))"
	if out := run(watch); !strings.HasSuffix(out, "[False, False] False True\n") {
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
	p, err := newPayload(true, &status{}, "", "")
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

// listeningPayload returns a payload for a process with this XDG_RUNTIME_DIR.
func listeningPayload(t *testing.T, runtime string, pid int, start uint64) *payload {
	t.Helper()
	socket, err := probe.Place(os.Geteuid(), runtime, pid, start)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPayload(false, &status{}, socket, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.remove)
	return p
}

// shortDir returns a directory whose path leaves room in a socket's address.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "vramscope-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a process may still hold it
	return dir
}

// withGdb makes gdb write a line for each call after mkdir that releases the GIL, and for some
// system calls.
const withGdb = `
set breakpoint pending on
set print thread-events off
handle all nostop noprint pass
break PyEval_SaveThread
disable 1
commands 1
  silent
  printf "\nEVENT %d lets go\n", $_thread
  continue
end
tcatch syscall mkdir mkdirat
commands 2
  silent
  enable 1
  continue
end
catch syscall unlink unlinkat
commands 3
  silent
  printf "\nEVENT %d unlink\n", $_thread
  continue
end
tcatch syscall listen
commands 4
  silent
  printf "\nEVENT %d listen\n", $_thread
  disable
  continue
end
run
`

// TestPayloadKeepsTheGILUntilItListens: whenever the payload releases the GIL, C code may take it for
// a second.
func TestPayloadKeepsTheGILUntilItListens(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	gdb := needs.Tool(t, "gdb")
	for version, python := range anyPythons(t) {
		for _, modules := range []string{"sys", "ctypes, fcntl, json, pickle, select, socket, struct"} {
			runtime := shortDir(t)
			p := listeningPayload(t, runtime, 4711, 1)
			const begin = "import posix\nfor _ in range(2):\n try:\n  posix.mkdir('')\n except OSError:\n  pass\n"
			cmd := exec.Command(gdb, "-nx", "--batch", "-x", textFile(t, withGdb), "--args",
				python, "-c", "import "+modules+onThread, textFile(t, begin+p.text))
			cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+runtime, "PYTHONPATH=")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("Python %s: %v, %s", version, err, out)
			}
			var events []string
			for line := range strings.Lines(string(out)) {
				if event, ok := strings.CutPrefix(line, "EVENT 2 "); ok {
					events = append(events, strings.TrimSpace(event))
				}
			}
			want := []string{"lets go", "unlink", "unlink", "listen"} // mkdir releases the GIL; unlink is seen twice
			if !slices.Equal(events, want) {
				t.Errorf("Python %s with %s: %q, want %q\n%s", version, modules, events, want, out)
			}
		}
	}
}

// TestEarlySocket: the probe serves on the socket that already listens. A child that is forked before
// the probe serves does not keep the socket, and a probe that cannot start removes it.
func TestEarlySocket(t *testing.T) {
	const program = `
import builtins, os, sys
def show():
    files = []
    for name in os.listdir("/proc/self/fd"):
        try:
            files.append(os.readlink("/proc/self/fd/" + name))
        except OSError:
            pass  # the directory's own
    print(sum(file.startswith("socket:") for file in files), len(os.listdir(os.environ["XDG_RUNTIME_DIR"] + "/vramscope")), flush=True)
def between(source, name, *arguments, original=compile):
    if name == "<vramscope_probe>":
        %s
    return original(source, name, *arguments)
def forbid(event, arguments):
    if event.startswith("socket."):
        raise RuntimeError("forbidden: " + event)
builtins.compile = between
` + onThread + "\nshow()\n"
	for version, python := range anyPythons(t) {
		for between, want := range map[string]string{
			"show(); os.fork() or (show(), os._exit(0)); os.wait()": "1 1\n0 1\n1 1\n",
			"raise RuntimeError":       "0 0\n",
			"sys.addaudithook(forbid)": "0 0\n",
			"os.closerange(3, 100)":    "1 1\n",
		} {
			runtime := shortDir(t)
			cmd := exec.Command(python, "-W", "ignore", "-c", fmt.Sprintf(program, between), "/dev/stdin")
			cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+runtime, "PYTHONPATH=")
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			text, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			id := identify(t, cmd.Process.Pid)
			p := listeningPayload(t, runtime, id.PID, id.StartTime)
			_, err = io.WriteString(text, p.text)
			if err := errors.Join(err, text.Close(), cmd.Wait()); err != nil || out.String() != want {
				t.Errorf("Python %s with %q: %v, %s", version, between, err, out.String())
			}
		}
	}
}

func TestReplaceablePayloadIsRefused(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	inside, link := filepath.Join(open, "inside"), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.MkdirAll(inside, 0o700), os.Symlink(inside, link)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", link)
	for mode, allowed := range map[os.FileMode]bool{0o777: false, 0o755: true, 0o777 | os.ModeSticky: true} {
		if err := os.Chmod(open, mode); err != nil {
			t.Fatal(err)
		}
		p, err := newPayload(false, &status{}, "", "")
		if (err == nil) != allowed {
			t.Errorf("%v: %v", mode, err)
		}
		if err == nil {
			p.remove()
		}
	}
}

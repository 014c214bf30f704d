//go:build linux

package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
	"vramscope/probe/conformance"
)

// patience is for one interpreter's suite on a machine with a lot else to do.
const patience = 10 * time.Minute

// pythons are the interpreters of this machine that the agent is for, by
// version.
func pythons(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	names := []string{"python3"}
	for minor := 8; minor <= 15; minor++ {
		names = append(names, fmt.Sprintf("python3.%d", minor))
	}
	for _, name := range names {
		out, err := exec.Command(name, "-c",
			"import sys; print('%d.%d' % sys.version_info[:2], sys.executable) if sys.version_info >= (3, 8) else 0").Output()
		version, path, ok := strings.Cut(strings.TrimSpace(string(out)), " ")
		if err == nil && ok && found[version] == "" {
			found[version] = path
		}
	}
	if len(found) == 0 {
		needs.Missing(t, "there is no Python 3.8 or newer")
	}
	return found
}

// driver is the environment of a box with two fake GPUs; nil where there is no
// C compiler to build it with.
func driver(t *testing.T) []string {
	t.Helper()
	library, err := fakedriver.Compile(fakedriver.Current)
	if errors.Is(err, fakedriver.ErrNoCompiler) {
		t.Log("no C compiler: without the tests that need a driver")
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	box := fakedriver.Box(2, 0)
	path := filepath.Join(t.TempDir(), "state")
	box.MustWrite(t, path)
	return fakedriver.Environment(library, path)
}

// TestPython runs testdata/test_*.py with each interpreter there is. They wait
// more than they work.
func TestPython(t *testing.T) {
	environ := append(os.Environ(), "PYTHONPATH=", "PYTHONDONTWRITEBYTECODE=1", "CUDA_VISIBLE_DEVICES=0,1")
	environ = append(environ, driver(t)...)
	for version, python := range pythons(t) {
		for _, suite := range suites(t) {
			t.Run(version+"/"+suite, func(t *testing.T) {
				t.Parallel()
				runSuite(t, python, suite, environ)
			})
		}
	}
}

// suites are the names of testdata/test_*.py and of the test classes in them.
func suites(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/test_*.py")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	var names []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(content)) {
			if class, _, ok := strings.Cut(strings.TrimPrefix(line, "class "), "(Case)"); ok {
				names = append(names, strings.TrimSuffix(filepath.Base(file), ".py")+"."+class)
			}
		}
	}
	return names
}

func runSuite(t *testing.T, python, suite string, environ []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-B", "-m", "unittest", suite)
	cmd.Dir = "testdata"
	cmd.Env = environ
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("Ran ")) || bytes.Contains(out, []byte("Ran 0 tests")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestThePythonServerConforms runs the protocol's vectors, with and without
// anything to flush.
func TestThePythonServerConforms(t *testing.T) {
	for version, python := range pythons(t) {
		for name, program := range map[string]string{
			"with a flush": "import torch; t = torch.empty(30 << 20)",
			"without":      "import vramscope_probe; vramscope_probe._start(at_once=True)",
		} {
			t.Run(version+"/"+name, func(t *testing.T) {
				conformance.Run(t, filepath.Join("..", "testdata", "conformance"), serve(t, python, program, standIns(t)))
			})
		}
	}
}

// TestWithTheRealPyTorch, which without a GPU is never initialised: the probe
// serves, has nothing to tell, and leaves it at that.
func TestWithTheRealPyTorch(t *testing.T) {
	found := false
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import torch; torch.cuda.is_initialized() and exit(1)").Run() != nil {
			continue
		}
		found = true
		t.Run(python, func(t *testing.T) {
			const program = `
import atexit, sys, torch, vramscope_probe
atexit.register(lambda: torch.cuda.is_initialized() and print("it was initialised", file=sys.stderr))
vramscope_probe._start(at_once=True)`
			socket := serve(t, python, program, "")
			conformance.Run(t, filepath.Join("..", "testdata", "conformance"), socket)
			conn, err := net.Dial("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }() // all has been said
			if _, err := conn.Write([]byte(`{"id":1,"cmd":"snapshot","format":"pytorch"}` + "\n")); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil || !strings.Contains(line, "PyTorch has not begun to use a GPU in this process") {
				t.Errorf("it answers %q, %v", line, err)
			}
		})
	}
	if !found {
		t.Skip("there is no PyTorch here")
	}
}

// standIns is the directory of the stand-ins for PyTorch and the others.
func standIns(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("testdata/fake")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// serve starts a Python program, which finds modules in path too, and returns
// its probe's socket. The program must end without a word.
func serve(t *testing.T, python, program, path string) string {
	t.Helper()
	// A path short enough for a socket of whoever does not know better.
	runtime, err := os.MkdirTemp("", "vramscope-run-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(runtime) }) // left in the temporary directory otherwise
	cmd := exec.Command(python, "-c", program+"\nimport sys; sys.stdin.read()")
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+runtime, "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+strings.TrimSuffix(installed(t)+":"+path, ":"))
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // its end
		if err := cmd.Wait(); err != nil || said.Len() > 0 {
			t.Errorf("the program: %v\n%s", err, said.String())
		}
	})
	for range 600 {
		// It is bound before it is listened on.
		if found, err := filepath.Glob(filepath.Join(runtime, "vramscope", "*.sock")); err == nil && len(found) == 1 {
			if conn, err := net.Dial("unix", found[0]); err == nil {
				_ = conn.Close() // nothing was said
				return found[0]
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("the probe does not serve")
	return ""
}

func installed(t *testing.T) string {
	t.Helper()
	directory, err := Install(filepath.Join(t.TempDir(), "cache", "vramscope"))
	if err != nil {
		t.Fatal(err)
	}
	return directory
}

func TestInstall(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "a", "vramscope")
	directory, err := Install(cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{cache, directory} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	probe := filepath.Join(directory, "vramscope_probe.py")
	before, err := os.Stat(probe)
	if err != nil {
		t.Fatal(err)
	}
	// What is there is left alone, what was changed is put right.
	if again, err := Install(cache); err != nil || again != directory {
		t.Fatal(again, err)
	}
	if after, err := os.Stat(probe); err != nil || !os.SameFile(before, after) {
		t.Errorf("it was written again: %v", err)
	}
	if err := os.WriteFile(probe, []byte("1/0"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(cache); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(probe); err != nil || !bytes.Equal(content, probeSource) {
		t.Errorf("it was not put right: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(directory, ".new-*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

func TestInstallRefuses(t *testing.T) {
	open := filepath.Join(t.TempDir(), "vramscope")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(open); err == nil || !strings.Contains(err.Error(), "can be written by others") {
		t.Errorf("a directory that others can write: %v", err)
	}
	link := filepath.Join(t.TempDir(), "vramscope")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(link); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a link: %v", err)
	}
	if _, err := Install("/dev/null/vramscope"); err == nil {
		t.Error("a directory below a file was made")
	}
}

//go:build linux

package agent

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
	"vramscope/probe/probetest"
)

// timeout limits one suite, even on a busy machine.
const timeout = 10 * time.Minute

func TestMain(m *testing.M) {
	needs.Parallel(3)
	os.Exit(m.Run())
}

// pythons returns the supported interpreters of this machine, by version.
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
		needs.Missing(t, "no Python 3.8 or newer")
	}
	return found
}

// driver returns the environment of a machine with two fake GPUs, or nil
// without a C compiler.
func driver(t *testing.T) []string {
	t.Helper()
	library, err := fakedriver.Compile(fakedriver.Current)
	if errors.Is(err, fakedriver.ErrNoCompiler) {
		t.Log("no C compiler: the tests that need a driver are skipped")
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

// TestPython runs testdata/test_*.py with each interpreter. The suites mostly wait, so they run in
// parallel. Each has GPUs of its own, because every job changes the free memory.
func TestPython(t *testing.T) {
	environ := suiteEnvironment(t)
	for version, python := range pythons(t) {
		for _, suite := range suites(t) {
			t.Run(version+"/"+suite, func(t *testing.T) {
				t.Parallel()
				runSuite(t, python, suite, append(slices.Clip(environ), driver(t)...))
			})
		}
	}
}

// TestGreenThreads runs testdata/green_threads.py with gevent, eventlet and gunicorn.
func TestGreenThreads(t *testing.T) {
	python := cmp.Or(os.Getenv("VRAMSCOPE_PYTHON"), "python3")
	if out, err := exec.Command(python, "-W", "ignore", "-c", "import eventlet, gevent, gunicorn.workers.geventlet, gunicorn.workers.ggevent").CombinedOutput(); err != nil {
		needs.Missing(t, "%s has no gevent, eventlet and gunicorn: %s", python, out)
	}
	environ := suiteEnvironment(t)
	runSuite(t, python, "green_threads.Green", environ)
}

// suiteEnvironment returns the environment of a suite. testdata/harness.py reads VRAMSCOPE_AGENT.
func suiteEnvironment(t *testing.T) []string {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "agent")
	if err := InstallShared(directory); err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "VRAMSCOPE_AGENT="+directory, "PYTHONPATH=", "PYTHONDONTWRITEBYTECODE=1", "CUDA_VISIBLE_DEVICES=0,1")
}

// suites returns the test classes in testdata/test_*.py, as module.Class.
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
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-B", "-m", "unittest", suite)
	cmd.Dir = "testdata"
	cmd.Env = environ
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("Ran ")) || bytes.Contains(out, []byte("Ran 0 tests")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestServerConforms runs the protocol's vectors, with and without a runtime
// that can be flushed.
func TestServerConforms(t *testing.T) {
	for version, python := range pythons(t) {
		for name, program := range map[string]string{
			"with a flush": "import torch; t = torch.empty(30 << 20)",
			"without":      "import vramscope_probe; vramscope_probe._start(at_once=True)",
		} {
			t.Run(version+"/"+name, func(t *testing.T) {
				probetest.Run(t, filepath.Join("..", "testdata", "conformance"), serve(t, python, program, standIns(t)))
			})
		}
	}
}

// TestSquattedDirectoryDeniesNoProbe: /tmp/vramscope-<uid> exists, and the probe refuses it.
func TestSquattedDirectoryDeniesNoProbe(t *testing.T) {
	user, prefix := probetest.Squatted(t)
	cmd := exec.Command("python3", "-c", "import sys, vramscope_probe; vramscope_probe._start(at_once=True); sys.stdin.read()")
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR=", "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+installed(t), "VRAMSCOPE_PROBE_DEBUG=1")
	cmd.SysProcAttr = user
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close() // ends the program
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Errorf("the program: %v\n%s", err, stderr.String())
		}
	}()
	probetest.Run(t, filepath.Join("..", "testdata", "conformance"), probetest.SpareSocket(t, prefix))
}

// TestRealPyTorchStaysUninitialised serves from a program with the real PyTorch,
// which has not used a GPU.
func TestRealPyTorchStaysUninitialised(t *testing.T) {
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
			probetest.Run(t, filepath.Join("..", "testdata", "conformance"), socket)
			conn, err := net.Dial("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }() // read and written already
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
		t.Skip("no PyTorch")
	}
}

// standIns returns the directory of the stand-ins for PyTorch and others.
func standIns(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("testdata/fake")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// serve starts a Python program, with path on its PYTHONPATH, and returns its
// probe's socket. The program must write nothing to standard error.
func serve(t *testing.T, python, program, path string) string {
	t.Helper()
	// t.TempDir() may be too long for a socket's address.
	runtime, err := os.MkdirTemp("", "vramscope-run-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(runtime) }) // only temporary files
	cmd := exec.Command(python, "-c", program+"\nimport sys; sys.stdin.read()")
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+runtime, "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+strings.TrimSuffix(installed(t)+":"+path, ":"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // ends the program
		if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
			t.Errorf("the program: %v\n%s", err, stderr.String())
		}
	})
	for range 600 {
		// A socket exists before it is listened on.
		if found, err := filepath.Glob(filepath.Join(runtime, "vramscope", "*.sock")); err == nil && len(found) == 1 {
			if conn, err := net.Dial("unix", found[0]); err == nil {
				_ = conn.Close() // nothing was sent
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

// TestSumsMatchTheFiles: "make agent" sets UPDATE_GOLDEN, which rewrites the sums.
func TestSumsMatchTheFiles(t *testing.T) {
	var want []byte
	for _, f := range files {
		want = fmt.Appendf(want, "%x  %s\n", sha256.Sum256(f.content()), f.name)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile("SHA256SUMS", want, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(sums, want) {
		t.Error("SHA256SUMS does not match probe/agent/source and sitecustomize.py: run make agent")
	}
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
	// An intact file is not rewritten, a changed one is.
	if again, err := Install(cache); err != nil || again != directory {
		t.Fatal(again, err)
	}
	if after, err := os.Stat(probe); err != nil || !os.SameFile(before, after) {
		t.Errorf("an intact file was rewritten: %v", err)
	}
	if err := os.WriteFile(probe, []byte("1/0"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(cache); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(probe); err != nil || !bytes.Equal(content, Source()) {
		t.Errorf("a changed file was not repaired: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(directory, ".new-*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

func TestInstallRefusesUnsafeDirectories(t *testing.T) {
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
		t.Error("a directory below a file was accepted")
	}
}

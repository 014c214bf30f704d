//go:build linux

// Package python tests the wheel of vramscope: wheel.py beside this file builds it, pip
// installs it, and the suites of testdata use it on the fake driver.
package python

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
	"vramscope/probe/agent"
)

// interpreter is the Python that has what the suites need.
var interpreter = cmp.Or(os.Getenv("VRAMSCOPE_PYTHON"), "python3")

// build builds the wheel into a directory and returns its path.
func build(t *testing.T, program string) string {
	t.Helper()
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "probe.py"), agent.Source(), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(needs.Tool(t, interpreter), "wheel.py", "1.2.3", "amd64", program, filepath.Join(directory, "probe.py"), directory)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// installation holds the paths of the installed program and of the installed package's directory.
type installation struct{ program, site string }

func install(t *testing.T, wheel string) installation {
	t.Helper()
	prefix := t.TempDir()
	out, err := exec.Command(interpreter, "-m", "pip", "--disable-pip-version-check", "--isolated", "install", "-q", "--no-index", "--no-deps",
		"--no-compile", "--no-warn-script-location", "--root-user-action=ignore", "--ignore-installed", "--prefix", prefix, wheel).CombinedOutput()
	if err != nil {
		needs.Missing(t, "pip: %v\n%s", err, out)
	}
	sites, err := filepath.Glob(filepath.Join(prefix, "*", "lib", "*", "*-packages"))
	direct, errDirect := filepath.Glob(filepath.Join(prefix, "lib", "*", "*-packages"))
	if sites = append(sites, direct...); err != nil || errDirect != nil || len(sites) != 1 {
		t.Fatalf("pip installed into %q, %v, %v", sites, err, errDirect)
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(sites[0])))
	return installation{filepath.Join(root, "bin", "vramscope"), sites[0]}
}

// on returns the environment of programs on a box. path is "PYTHONPATH=…", and libraries are directories that are
// searched beside the driver's.
func (i installation) on(t *testing.T, box fakedriver.State, path string, libraries ...string) []string {
	t.Helper()
	own, err := os.MkdirTemp("", "wheel-") // short enough for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(own) }) // an error leaves files in the temporary directory only
	state := filepath.Join(own, "state")
	box.MustWrite(t, state)
	environ := append(os.Environ(), fakedriver.Environment(fakedriver.Build(t, fakedriver.Current), state, libraries...)...)
	return append(environ, path, "HOME="+own, "XDG_RUNTIME_DIR="+own, "XDG_STATE_HOME="+own, "XDG_CONFIG_HOME="+own,
		"FAKE_TORCH_DRIVER=1", "CUDA_VISIBLE_DEVICES=0,1", "PYTHONDONTWRITEBYTECODE=1")
}

// suite runs one of the test modules of testdata, in the interpreter.
func (i installation) suite(t *testing.T, name string, environ []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, interpreter, "-B", "-W", "error", "-m", "unittest", name)
	cmd.Dir, cmd.Env = "testdata", environ
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("Ran ")) || bytes.Contains(out, []byte("Ran 0 tests")) {
		t.Errorf("%v\n%s", err, out)
	}
}

// standIns returns the path of the packages that imitate PyTorch and others.
func (i installation) standIns(t *testing.T) string {
	t.Helper()
	fakes, err := filepath.Abs("../probe/agent/testdata/fake")
	if err != nil {
		t.Fatal(err)
	}
	return "PYTHONPATH=" + i.site + string(os.PathListSeparator) + fakes
}

func TestWheelIsReproducible(t *testing.T) {
	program := filepath.Join(t.TempDir(), "vramscope")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	first, second := build(t, program), build(t, program)
	want, errFirst := os.ReadFile(first)
	got, errSecond := os.ReadFile(second)
	if err := errors.Join(errFirst, errSecond); err != nil || !bytes.Equal(got, want) {
		t.Errorf("two builds differ: %v", err)
	}
	if name := filepath.Base(first); name != "vramscope-1.2.3-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl" {
		t.Errorf("it is called %s", name)
	}
}

// TestInstalledWheel: the installed command is the program itself, python -m vramscope becomes the
// program, and the package returns the program's output.
func TestInstalledWheel(t *testing.T) {
	i := install(t, build(t, needs.Vramscope(t)))
	out, err := exec.Command(i.program, "--version").CombinedOutput()
	if err != nil || !bytes.HasPrefix(out, []byte("vramscope ")) {
		t.Errorf("the command: %v, %s", err, out)
	}

	environ := i.on(t, fakedriver.Box(2, 1), i.standIns(t))
	cmd := exec.CommandContext(t.Context(), interpreter, "-m", "vramscope", "stream")
	cmd.Dir, cmd.Env = t.TempDir(), environ // the package's source here is not the installed package
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Errorf("python -m vramscope stream: %v", err)
	}
	running, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "exe"))
	if want, _ := filepath.EvalSymlinks(i.program); err != nil || running != want {
		t.Errorf("python -m vramscope is %s, %v; want %s", running, err, want)
	}
	_ = cmd.Process.Kill() // stream does not end by itself
	_ = cmd.Wait()

	i.suite(t, "test_api", environ)
	t.Run("Jupyter", func(t *testing.T) {
		t.Parallel()
		lacking(t, "ipykernel, jupyter_client")
		i.suite(t, "test_notebook", i.on(t, fakedriver.Box(2, 1), i.standIns(t)))
	})
	t.Run("pytest", func(t *testing.T) {
		t.Parallel()
		lacking(t, "pytest")
		i.suite(t, "test_plugin", i.on(t, fakedriver.Box(2, 0), i.standIns(t)))
	})
	t.Run("pytest with PyTorch", func(t *testing.T) {
		t.Parallel()
		lacking(t, "pytest")
		release := os.Getenv("VRAMSCOPE_REAL_RELEASES")
		if strings.ContainsAny(release, " ,") || !strings.HasPrefix(release, "torch-") {
			t.Skip("VRAMSCOPE_REAL_RELEASES names no PyTorch alone, as .ci/run has it")
		}
		site := filepath.Join(os.Getenv("VRAMSCOPE_REAL_LIBRARIES"), release)
		runtime, errRuntime := fakedriver.CompileRuntime()
		standIns, errStandIns := fakedriver.CompileStandIns(site)
		if err := errors.Join(errRuntime, errStandIns); err != nil {
			t.Fatal(err)
		}
		box := fakedriver.Box(1, 0)
		box.Driver = fakedriver.RuntimeDriver()
		i.suite(t, "test_plugin.Plugin.test_limits", i.on(t, box, "PYTHONPATH="+i.site+string(os.PathListSeparator)+site, runtime, standIns))
	})
}

// lacking ends the test where the interpreter lacks one of these modules.
func lacking(t *testing.T, modules string) {
	t.Helper()
	if out, err := exec.Command(interpreter, "-W", "ignore", "-c", "import "+modules).CombinedOutput(); err != nil {
		needs.Missing(t, "%s lacks one of %s: %s", interpreter, modules, out)
	}
}

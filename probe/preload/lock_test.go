//go:build linux

package preload_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestFreeInSignalHandler: a handler may interrupt a locked section of the library.
// Its frees, and exit from it, must not deadlock.
func TestFreeInSignalHandler(t *testing.T) {
	b := newBox(t)
	nothing := filepath.Join(b.directory, "nothing")
	if err := os.MkdirAll(nothing, 0o700); err != nil {
		t.Fatal(err)
	}
	library := build(t, filepath.Join("nothing", "libcuda.so.1"), []string{"testdata/nothing.c"}, "-O2", "-shared", "-fPIC",
		"-Wl,-soname,libcuda.so.1")
	program := build(t, "interrupted", []string{"testdata/interrupted.c"}, library)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(slices.Clone(b.environ), "LD_LIBRARY_PATH="+nothing, "LD_PRELOAD="+b.library)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 7 || len(out) > 0 {
		t.Errorf("exit code %d (%v), output %q", code, err, out)
	}
}

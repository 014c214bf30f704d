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

// TestFreeingInASignalsHandler: a handler may come in the middle of a look into
// the books. What it frees, and the end of the program, must not wait for that.
func TestFreeingInASignalsHandler(t *testing.T) {
	b := newBox(t)
	nothing := filepath.Join(b.directory, "nothing")
	if err := os.MkdirAll(nothing, 0o700); err != nil {
		t.Fatal(err)
	}
	library := build(t, filepath.Join("nothing", "libcuda.so.1"), []string{"testdata/nothing.c"}, "-O2", "-shared", "-fPIC",
		"-Wl,-soname,libcuda.so.1")
	program := build(t, "interrupted", []string{"testdata/interrupted.c"}, library)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(slices.Clone(b.environ), "LD_LIBRARY_PATH="+nothing, "LD_PRELOAD="+b.library)
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 7 || len(out) > 0 {
		t.Errorf("it ended with %d (%v), said %q", code, err, out)
	}
}

//go:build linux

package preload_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/probe/preload"
)

// TestObstacleOfIncompleteGlibc: the loader would not start a program with a
// preloaded library whose dependencies are missing.
func TestObstacleOfIncompleteGlibc(t *testing.T) {
	workshop(t)
	directory := t.TempDir()
	loader := filepath.Join(directory, "ld-linux.so")
	program := compiled(t, nothingSource, "-Wl,--dynamic-linker="+loader)
	for _, step := range []struct{ file, want string }{
		{"", ""}, // as in a container that cannot be read
		{"ld-linux.so", "without libpthread.so.0"},
		{"libpthread.so.0", "without libdl.so.2"},
		{"libdl.so.2", ""},
	} {
		if step.file != "" {
			if err := os.WriteFile(filepath.Join(directory, step.file), nil, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		got := preload.Obstacle(program)
		if (step.want == "") != (got == "") || !strings.Contains(got, step.want) {
			t.Errorf("after adding %q: %q, want %q", step.file, got, step.want)
		}
	}
}

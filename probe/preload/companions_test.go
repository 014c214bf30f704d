//go:build linux

package preload_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/probe/preload"
)

// TestObstacleOfACLibraryThatIsNotWhole: the loader would not start a program
// for which it cannot find what the library needs.
func TestObstacleOfACLibraryThatIsNotWhole(t *testing.T) {
	workshop(t)
	directory := t.TempDir()
	loader := filepath.Join(directory, "ld-linux.so")
	program := compiled(t, nothingSource, "-Wl,--dynamic-linker="+loader)
	for _, step := range []struct{ file, want string }{
		{"", ""}, // as in a container that cannot be looked into
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
			t.Errorf("with %q there as well it says %q, want %q", step.file, got, step.want)
		}
	}
}

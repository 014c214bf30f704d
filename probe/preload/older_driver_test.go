//go:build linux

package preload_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestProgramNewerThanDriver: for an unknown version the driver returns an older
// function with other parameters. The program must not get the hook of the new function.
func TestProgramNewerThanDriver(t *testing.T) {
	older := build(t, "older-libcuda.so.1", []string{"testdata/older.c"}, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1")
	newer := build(t, "newer", []string{"testdata/newer.c"})
	b := newBox(t)
	for _, preloaded := range []bool{false, true} {
		environ := append(slices.Clone(b.environ), "LD_LIBRARY_PATH="+linked(t, older))
		if preloaded {
			environ = append(environ, "LD_PRELOAD="+b.library)
		}
		r := b.startIn(environ, newer)
		if !slices.Equal(r.out, []string{"create 0 by libcuda.so.1"}) {
			t.Errorf("preloaded %v: %q", preloaded, r.out)
		}
		r.end()
	}
}

// linked returns a directory with the library as libcuda.so.1.
func linked(t *testing.T, library string) string {
	t.Helper()
	directory := t.TempDir()
	if err := os.Symlink(library, filepath.Join(directory, "libcuda.so.1")); err != nil {
		t.Fatal(err)
	}
	return directory
}

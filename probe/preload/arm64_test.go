//go:build linux && cgo && !race

// These tests of C code take long; CI needs them in one of its passes only.

package preload_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// TestMatrixOnArm64 runs a part of the matrix in an emulator, which shows neither what calls cost
// nor races.
func TestMatrixOnArm64(t *testing.T) {
	w := workshop(t)
	emulator, err := exec.LookPath("qemu-aarch64")
	if err != nil || !exists(filepath.Join(crossRoot, "lib", "libc.so.6")) {
		needs.Missing(t, "no qemu-aarch64 with an arm64 libc: install qemu-user and libc6-arm64-cross")
	}
	compile := crossCompiler(t)
	directory := filepath.Join(w.directory, "arm64")
	if err := os.MkdirAll(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	library, err := filepath.Abs("libvramscope-arm64.so")
	if err != nil {
		t.Fatal(err)
	}
	driver := append(sources(t, "../../internal/fakedriver/state/*.c"), sources(t, "../../internal/fakedriver/cuda/*.c")...)
	compile(append(driver, "-shared", "-fPIC", "-fvisibility=hidden", "-pthread", "-Wl,-soname,libcuda.so.1", "-Wl,-Bsymbolic",
		"-o", filepath.Join(directory, "libcuda.so.1"))...)
	flags := []string{"-I", "../../internal/fakedriver/cuda"}
	program, linked := filepath.Join(directory, "program"), filepath.Join(directory, "linked")
	compile(slices.Concat(programSources, flags, []string{"-o", program, "-ldl", "-lpthread"})...)
	compile(slices.Concat(programSources, flags, []string{"-DLINKED", "-o", linked, filepath.Join(directory, "libcuda.so.1"), "-ldl", "-lpthread"})...)
	for _, way := range []string{"linked", "dlsym", "proc2-ptsz"} {
		for _, scenario := range []string{"linear", "pooled", "virtual", "teardown"} {
			t.Run(way+"/"+scenario, func(t *testing.T) {
				b := newBox(t)
				under := []string{emulator, "-L", crossRoot, "-E", "LD_LIBRARY_PATH=" + directory + ":" + crossRoot + "/lib"}
				played := []string{program, way, scenario}
				if way == "linked" {
					played[0] = linked
				}
				plain := b.start(false, slices.Concat(under, played)...)
				plain.end()
				watched := b.start(false, slices.Concat(under, []string{"-E", "LD_PRELOAD=" + library}, played)...)
				if !slices.Equal(plain.out, watched.out) {
					t.Errorf("without the library:\n%s\nwith it:\n%s", strings.Join(plain.out, "\n"), strings.Join(watched.out, "\n"))
				}
				checkStats(t, watched)
				watched.end()
			})
		}
	}
}

// crossCompiler returns gcc or zig, which scripts/build-preload also uses.
func crossCompiler(t *testing.T) func(arguments ...string) {
	t.Helper()
	command := []string{"aarch64-linux-gnu-gcc"}
	if _, err := exec.LookPath(command[0]); err != nil {
		python := os.Getenv("VRAMSCOPE_PYTHON")
		if python == "" {
			python = "python3"
		}
		if err := exec.Command(python, "-m", "ziglang", "version").Run(); err != nil {
			needs.Missing(t, "no compiler for arm64: gcc-aarch64-linux-gnu, or ziglang in $VRAMSCOPE_PYTHON")
		}
		command = []string{python, "-m", "ziglang", "cc", "-target", "aarch64-linux-gnu.2.31", "-fno-sanitize=undefined"}
	}
	return func(arguments ...string) {
		t.Helper()
		cmd := exec.Command(command[0], slices.Concat(command[1:], []string{"-std=gnu11", "-O1"}, arguments)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", cmd.Args, err, out)
		}
	}
}

func sources(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return found
}

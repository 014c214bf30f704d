//go:build linux && cgo && !race

// These tests of C code take long; CI needs them in one of its passes only.

package preload_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// unitSources are the parts that need no driver and no socket.
var unitSources = []string{
	"testdata/units.c", "shim/ledger.c", "shim/json.c", "shim/text.c", "shim/vmm.c", "shim/pools.c", "shim/capture.c",
	"shim/contexts.c", "shim/state.c", "shim/lock.c",
}

// TestUnitsUnderSanitizers compares the ledger with a plain model, also under
// concurrent changes.
func TestUnitsUnderSanitizers(t *testing.T) {
	t.Parallel()
	for _, sanitizer := range []string{"address,undefined", "thread"} {
		t.Run(sanitizer, func(t *testing.T) {
			program := buildSanitized(t, "units", sanitizer, unitSources)
			ctx, cancel := context.WithTimeout(context.Background(), 10*timeout)
			defer cancel()
			out, err := exec.CommandContext(ctx, program).CombinedOutput()
			if strings.Contains(string(out), "unexpected memory mapping") {
				t.Skip("ThreadSanitizer of this compiler does not run on this kernel")
			}
			if err != nil || string(out) != "ready\n" {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestWholeUnderSanitizers runs hooks, ledger, socket and flushes together, up to
// an exit while serving.
func TestWholeUnderSanitizers(t *testing.T) {
	t.Parallel()
	whole := []string{"testdata/whole.c"}
	for _, source := range sources(t, "shim/*.c") {
		// whole.c replaces these: sanitizers hook dlsym, and do not see mmap by system call.
		if base := filepath.Base(source); base != "resolve.c" && base != "pages.c" {
			whole = append(whole, source)
		}
	}
	for _, sanitizer := range []string{"address,undefined", "thread"} {
		t.Run(sanitizer, func(t *testing.T) {
			b := newBox(t)
			program := buildSanitized(t, "whole", sanitizer, whole)
			ctx, cancel := context.WithTimeout(context.Background(), 10*timeout)
			defer cancel()
			cmd := exec.CommandContext(ctx, program)
			cmd.Env = append(b.environ, "ASAN_OPTIONS=detect_leaks=0") // the server's memory is never freed
			out, err := cmd.CombinedOutput()
			if strings.Contains(string(out), "unexpected memory mapping") {
				t.Skip("ThreadSanitizer of this compiler does not run on this kernel")
			}
			if err != nil || string(out) != "ready\n" {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// buildSanitized builds with a sanitizer; without one the test is skipped.
func buildSanitized(t *testing.T, name, sanitizer string, sources []string) string {
	t.Helper()
	workshop(t)
	empty := filepath.Join(t.TempDir(), "empty.c")
	if err := os.WriteFile(empty, []byte("int main(void) { return 0; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler(), "-fsanitize="+sanitizer, empty, "-o", empty+".out").CombinedOutput(); err != nil {
		needs.Missing(t, "the compiler has no -fsanitize=%s: %v\n%s", sanitizer, err, out)
	}
	name += "-" + strings.ReplaceAll(sanitizer, ",", "-")
	return build(t, name, sources, "-I", "shim", "-fsanitize="+sanitizer, "-fno-sanitize-recover=all")
}

// TestUnderValgrind runs the committed library, with its serving thread.
func TestUnderValgrind(t *testing.T) {
	t.Parallel()
	valgrind := needs.Tool(t, "valgrind")
	for _, scenario := range []string{"linear", "pooled", "virtual", "teardown"} {
		t.Run(scenario, func(t *testing.T) {
			b := newBox(t)
			r := b.start(true, valgrind, "-q", "--error-exitcode=9", "--child-silent-after-fork=yes", "--fair-sched=yes",
				program(t, "dlsym"), "dlsym", scenario)
			checkStats(t, r)
			r.end()
		})
	}
}

// TestPrototypesMatchCUDA compiles every hook with NVIDIA's header, from
// VRAMSCOPE_CUDA_INCLUDE, CUDA_HOME or /usr/local/cuda.
func TestPrototypesMatchCUDA(t *testing.T) {
	include := ""
	for _, directory := range []string{os.Getenv("VRAMSCOPE_CUDA_INCLUDE"), filepath.Join(os.Getenv("CUDA_HOME"), "include"), "/usr/local/cuda/include"} {
		if _, err := os.Stat(filepath.Join(directory, "cuda.h")); err == nil && filepath.IsAbs(directory) {
			include = directory
			break
		}
	}
	if include == "" {
		needs.Missing(t, "no cuda.h: set VRAMSCOPE_CUDA_INCLUDE to its directory")
	}
	sources, err := filepath.Glob("shim/*.c")
	if err != nil || len(sources) == 0 {
		t.Fatal(err)
	}
	workshop(t)
	flags := []string{"-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-DREAL_CUDA_HEADER", "-isystem", include}
	header, err := os.ReadFile(filepath.Join(include, "cuda.h"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(header), "cuStreamBeginCaptureToGraph") {
		flags = append(flags, "-DWITHOUT_CAPTURE_TO_GRAPH")
	}
	if out, err := exec.Command(compiler(), append(flags, sources...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

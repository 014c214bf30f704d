package fakedriver_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
)

// NVIDIA's own header, if it is installed, agrees with every prototype, and its type names agree
// with every version that cuGetProcAddress knows.
func TestPrototypesAreThoseOfTheRealHeader(t *testing.T) {
	t.Parallel()
	for major, directory := range findHeaders(t) {
		if err := fakedriver.CompileAgainst(directory); err != nil {
			t.Errorf("CUDA %d: %v", major, err)
		}
	}
}

// NVIDIA's headers agree with every prototype and error code of the runtime, too.
func TestRuntimePrototypesAreThoseOfTheRealHeader(t *testing.T) {
	t.Parallel()
	for major, directory := range findHeaders(t) {
		if err := fakedriver.CompileRuntimeAgainst(directory, major); err != nil {
			t.Errorf("CUDA %d: %v", major, err)
		}
	}
}

func TestRuntimeStructsAreLaidOutAsInTheRealHeader(t *testing.T) {
	t.Parallel()
	for major, directory := range findHeaders(t) {
		ours, theirs := layout(t, major, ""), layout(t, major, directory)
		if ours != theirs {
			t.Errorf("CUDA %d: ours:\n%s\nNVIDIA's:\n%s", major, ours, theirs)
		}
	}
}

func layout(t *testing.T, major int, headers string) string {
	t.Helper()
	program, err := fakedriver.BuildRuntimeLayout(major, headers)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

var runtimeVersion = regexp.MustCompile(`#define CUDART_VERSION\s+(\d+)`)

// findHeaders returns directories with NVIDIA's headers, by CUDA's major version.
func findHeaders(t *testing.T) map[int]string {
	t.Helper()
	if _, err := fakedriver.CompileRuntime(); errors.Is(err, fakedriver.ErrNoCompiler) {
		needs.Missing(t, "%v", err)
	}
	patterns := []string{
		os.Getenv("CUDA_HOME") + "/include", "/usr/local/cuda*/include",
		"/usr/local/lib/python3*/*-packages/nvidia/*/include", os.Getenv("HOME") + "/.local/lib/python3*/site-packages/nvidia/*/include",
	}
	if python := os.Getenv("VRAMSCOPE_PYTHON"); python != "" {
		patterns = append(patterns, filepath.Join(filepath.Dir(python), "../lib/python3*/site-packages/nvidia/*/include"))
	}
	headers := map[int]string{}
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join(pattern, "cuda_runtime_api.h"))
		if err != nil {
			t.Fatal(err)
		}
		for _, header := range found {
			text, err := os.ReadFile(header)
			if err != nil {
				t.Fatal(err)
			}
			if match := runtimeVersion.FindSubmatch(text); match != nil {
				version, _ := strconv.Atoi(string(match[1])) // digits
				headers[version/1000] = filepath.Dir(header)
			}
		}
	}
	for _, major := range []int{12, 13} {
		if headers[major] == "" {
			needs.Missing(t, "no cuda_runtime_api.h of CUDA %d: pip install nvidia-cuda-runtime-cu12 nvidia-cuda-runtime beside the Python that VRAMSCOPE_PYTHON names", major)
		}
	}
	return headers
}

package cuda

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"vramscope/internal/needs"
)

// TestHeaderMatchesCUDA makes the compiler compare driver.h with the real cuda.h: the types of the
// functions, the values of the enumerations, the layout of the structures. cuda.h is found by
// VRAMSCOPE_CUDA_INCLUDE or CUDA_HOME, or in /usr/local/cuda.
func TestHeaderMatchesCUDA(t *testing.T) {
	include, err := cudaInclude()
	if err != nil {
		needs.Missing(t, "no cuda.h: %v (set VRAMSCOPE_CUDA_INCLUDE to its directory)", err)
	}
	compiler := needs.Tool(t, "cc")
	cmd := exec.Command(compiler, "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
		"-isystem", include, filepath.Join("testdata", "header_check.c"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("driver.h differs from %s/cuda.h: %v\n%s", include, err, out)
	}
}

func cudaInclude() (string, error) {
	for _, dir := range []string{
		os.Getenv("VRAMSCOPE_CUDA_INCLUDE"), filepath.Join(os.Getenv("CUDA_HOME"), "include"), "/usr/local/cuda/include",
	} {
		if _, err := os.Stat(filepath.Join(dir, "cuda.h")); err == nil && filepath.IsAbs(dir) {
			return dir, nil
		}
	}
	return "", errors.New("it is neither in $CUDA_HOME/include nor in /usr/local/cuda/include")
}

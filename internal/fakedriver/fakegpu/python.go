//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"vramscope/internal/fakedriver"
)

// runtimeDirectories returns the directory of the CUDA runtime, and that of the stand-ins for the
// libraries that the command's Python packages need.
func runtimeDirectories(command []string) ([]string, error) {
	runtime, err := fakedriver.CompileRuntime()
	if err != nil {
		return nil, err
	}
	folders, err := importFolders(command)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		// Libraries of a wheel first look in nvidia/*/lib, and NVIDIA's runtime does not run on this driver.
		found, err := filepath.Glob(filepath.Join(folder, "nvidia", "*", "lib", "libcudart.so*"))
		if err == nil && len(found) > 0 {
			return nil, fmt.Errorf("--cudart: NVIDIA's own runtime is installed and would be loaded instead: %s: "+
				"use an environment without the nvidia-* wheels (pip install --no-deps torch)", found[0])
		}
	}
	standIns, err := fakedriver.CompileStandIns(folders...)
	if err != nil {
		return nil, err
	}
	return []string{runtime, standIns}, nil
}

// importFolders returns the folders in which the command's Python, or python3, looks for packages,
// without the standard library. It returns none if there is no Python.
func importFolders(command []string) ([]string, error) {
	python := "python3"
	for _, word := range command {
		if strings.HasPrefix(filepath.Base(word), "python") {
			python = word
			break
		}
	}
	path, err := exec.LookPath(python)
	if err != nil {
		return nil, nil //nolint:nilerr // a command in another language
	}
	const program = "import sys; print('\\n'.join(p for p in sys.path[1:] if p.endswith('-packages')))"
	out, err := exec.Command(path, "-c", program).Output()
	if err != nil {
		return nil, fmt.Errorf("--cudart: %s: %w", path, err)
	}
	var folders []string
	for _, folder := range append(strings.Fields(string(out)), filepath.SplitList(os.Getenv("PYTHONPATH"))...) {
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}

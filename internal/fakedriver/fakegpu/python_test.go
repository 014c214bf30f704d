//go:build linux

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The command finds the runtime, and stand-ins for what its Python's packages need.
func TestCUDARTIsFound(t *testing.T) {
	t.Parallel()
	python, site := pythonWith(t)
	cmd := fakeGPU(t, "--gpus", "1", "--processes", "0", "--cudart", "--", python, "-")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	search, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	found := map[string]bool{}
	for _, directory := range filepath.SplitList(search) {
		for _, name := range []string{"libcuda.so.1", "libcudart.so.12", "libcudart.so.13"} {
			found[name] = found[name] || exists(filepath.Join(directory, name))
		}
	}
	if len(found) != 3 || !found["libcuda.so.1"] || !found["libcudart.so.12"] || !found["libcudart.so.13"] {
		t.Errorf("in %s: %v", search, found)
	}
	if version != "driver.cuda_version 13000" {
		t.Errorf("the state has %q", version)
	}

	// NVIDIA's own would be loaded in its place.
	folder := filepath.Join(site, "nvidia", "cuda_runtime", "lib")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "libcudart.so.12"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd = fakeGPU(t, "--cudart", "--", python, "-")
	out, err = cmd.CombinedOutput()
	if status(err) != 1 || !strings.Contains(string(out), folder) || !strings.Contains(string(out), "--no-deps") {
		t.Errorf("%v: %s", err, out)
	}
}

// pythonWith is a Python, as far as fake-gpu asks it, with a folder of packages. With
// the argument - it prints what the test wants to know.
func pythonWith(t *testing.T) (program, site string) {
	t.Helper()
	site = filepath.Join(t.TempDir(), "site-packages")
	if err := os.Mkdir(site, 0o755); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(t.TempDir(), "python3")
	text := "#!/bin/sh\n" +
		"if [ \"$1\" = -c ]; then echo " + site + "; else echo $LD_LIBRARY_PATH; grep cuda_version \"$VRAMSCOPE_FAKE_STATE\"; fi\n"
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	return program, site
}

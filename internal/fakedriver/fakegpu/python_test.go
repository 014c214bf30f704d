//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
)

// The command finds the driver's library and both runtimes, unless NVIDIA's own runtime is installed.
func TestCUDARTIsFound(t *testing.T) {
	t.Parallel()
	python, site := pythonWith(t)
	cmd := fakeGPU(t, "--gpus", "1", "--processes", "0", "--cudart", "--", python, "-")
	out, err := cmd.Output()
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

	// fake-gpu refuses to start where NVIDIA's own runtime is installed: programs would load that one.
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

// If mounts are forbidden, the command runs without /dev/nvidiactl, and standard error says so.
func TestCUDARTWithoutMounts(t *testing.T) {
	t.Parallel()
	needs.Tool(t, "setpriv")
	program, err := fakedriver.CompileDevices()
	if err != nil {
		t.Fatal(err)
	}
	const forbid = `echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin "$@"`
	cmd := exec.Command("unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh", program, "/bin/sh", "sh", "-c", "exit 7")
	out, err := cmd.CombinedOutput()
	if strings.HasPrefix(string(out), "unshare:") || exists("/dev/nvidiactl") {
		t.Skipf("no user namespaces here: %s", out)
	}
	if status(err) != 7 || !strings.HasPrefix(string(out), "fake-gpu: no /dev/nvidiactl") || !strings.Contains(string(out), "JAX") {
		t.Errorf("%v: %s", err, out)
	}
}

// The command sees /dev/nvidiactl in addition to the machine's devices. Other programs do not see it.
func TestCUDARTMakesADevice(t *testing.T) {
	t.Parallel()
	if exists("/dev/nvidiactl") {
		t.Skip("the machine has one")
	}
	needs.Tool(t, "unshare")
	if out, err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("no mount namespaces for this user: %s", out)
	}
	python, _ := pythonWith(t)
	const script = `ls /dev; echo lost >/dev/nvidiactl; echo lost >/dev/null; [ -e /dev/fd/0 ]; exit 7`
	cmd := fakeGPU(t, "--gpus", "1", "--processes", "0", "--cudart", "--", "sh", "-c", script, python)
	out, err := cmd.CombinedOutput()
	if status(err) != 7 {
		t.Fatalf("%v: %s", err, out)
	}
	here, err := os.ReadDir("/dev")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"nvidiactl"}
	for _, entry := range here {
		want = append(want, entry.Name())
	}
	got := strings.Fields(string(out))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("in /dev: %q, want %q", got, want)
	}
	if exists("/dev/nvidiactl") {
		t.Error("others see /dev/nvidiactl")
	}

	cmd = fakeGPU(t, "--gpus", "1", "--processes", "0", "--cudart", "--", python+"-which-is-not-there")
	if out, err := cmd.CombinedOutput(); status(err) != 127 || !strings.Contains(string(out), "command not found") {
		t.Errorf("%v: %s", err, out)
	}
}

// pythonWith makes a program that answers fake-gpu as Python would, and a folder of packages. With
// the argument - the program prints its library path and the driver's CUDA version.
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

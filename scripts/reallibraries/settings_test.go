//go:build linux && cgo

package reallibraries

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
)

// parse makes PyTorch read each setting of its allocator: unchanged, and with a mistake in the key or in
// the value, which PyTorch must refuse.
const parse = `
import sys, torch
setter = getattr(torch.cuda.memory, "_set_allocator_settings", None) or torch._C._accelerator_setAllocatorSettings
for setting in sys.argv[1:]:
    key, _, value = setting.partition(":")
    setter(setting)
    for wrong in (key[:-1] + ":" + value, key + ":" + value[:-1] + "x"):
        try:
            setter(wrong)
        except Exception:
            continue
        sys.exit("PyTorch takes " + wrong)
print("parsed", len(sys.argv) - 1)
`

// TestAdvisedSettings: PyTorch's parser accepts the settings that vramscope advise names, and JAX's
// and TensorFlow's wheels contain theirs.
func TestAdvisedSettings(t *testing.T) {
	needs.Tool(t, "python3")
	var allocator, jax, tensorflow, attributes []string
	spelled, err := os.ReadFile("../../guard/advice/testdata/spelled.txt")
	if err != nil {
		t.Fatal(err)
	}
	for s := range strings.Lines(string(spelled)) {
		s = strings.TrimSpace(s)
		name, value, _ := strings.Cut(s, "=")
		switch {
		case name == "PYTORCH_CUDA_ALLOC_CONF":
			allocator = append(allocator, value)
		case strings.HasPrefix(s, "XLA_"):
			jax = append(jax, name)
		case strings.HasPrefix(s, "TF_"):
			tensorflow = append(tensorflow, name, strings.Trim(value, "true"))
		case strings.HasPrefix(s, "torch."):
			name, _, _ = strings.Cut(s, "(")
			attributes = append(attributes, name)
		}
	}
	if len(allocator) != 2 || len(jax) != 2 || len(tensorflow) != 4 || len(attributes) != 5 {
		t.Fatalf("%q, %q, %q, %q", allocator, jax, tensorflow, attributes)
	}
	for _, site := range releases(t, "torch") {
		t.Run(filepath.Base(site), func(t *testing.T) {
			script := parse + "import torch.utils.checkpoint\n" + strings.Join(attributes, "\n") + "\n"
			cmd := exec.CommandContext(t.Context(), "python3", append([]string{"-c", script}, allocator...)...)
			cmd.Env = append(append(os.Environ(), onFakeDriver(t, site)...), "PYTHONPATH="+site)
			out, err := cmd.CombinedOutput()
			if err != nil || !bytes.Contains(out, []byte("parsed 2")) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	for library, words := range map[string][]string{"jax": jax, "tensorflow": tensorflow} {
		t.Run(library, func(t *testing.T) {
			for _, site := range releases(t, library) {
				contain(t, site, words)
			}
		})
	}
}

// onFakeDriver returns an environment in which a release finds a driver and a CUDA runtime.
func onFakeDriver(t *testing.T, site string) []string {
	t.Helper()
	runtime, err := fakedriver.CompileRuntime()
	if err != nil {
		t.Fatal(err)
	}
	standIns, err := fakedriver.CompileStandIns(site)
	if err != nil {
		t.Fatal(err)
	}
	box := fakedriver.Box(1, 0)
	box.Driver = fakedriver.RuntimeDriver()
	state := filepath.Join(t.TempDir(), "state")
	box.MustWrite(t, state)
	return fakedriver.Environment(fakedriver.Build(t, fakedriver.Current), state, runtime, standIns)
}

// contain fails the test for each word that no program file of a release contains.
func contain(t *testing.T, site string, words []string) {
	t.Helper()
	missing := slices.Clone(words)
	err := filepath.WalkDir(site, func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || d.IsDir() || len(missing) == 0 || !strings.HasSuffix(name, ".py") && !strings.Contains(name, ".so") {
			return err
		}
		content, err := os.ReadFile(path)
		missing = slices.DeleteFunc(missing, func(word string) bool { return bytes.Contains(content, []byte(word)) })
		return err
	})
	if err != nil || len(missing) > 0 {
		t.Errorf("%s has no %q: %v", site, missing, err)
	}
}

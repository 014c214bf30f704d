//go:build linux && cgo

package reallibraries

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// recordings is the directory of what real libraries answer to the probe, for tests without these
// libraries (probe/agent/testdata/test_recorded.py). scripts/real-libraries --record sets
// VRAMSCOPE_RECORD, with which the test writes the directory again.
const recordings = "../../probe/agent/testdata/recorded"

// TestRecorded compares what each release answers with the recorded answers.
func TestRecorded(t *testing.T) {
	beyondCore(t)
	for library, settings := range map[string]map[string]string{
		"torch": {
			"native":     "PYTORCH_CUDA_ALLOC_CONF=",
			"expandable": "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
			"async":      "PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync",
			"uncached":   "PYTORCH_NO_CUDA_MEMORY_CACHING=1",
		},
		"jax": {
			"default":  "XLA_PYTHON_CLIENT_ALLOCATOR=default",
			"growing":  "XLA_PYTHON_CLIENT_PREALLOCATE=false",
			"platform": "XLA_PYTHON_CLIENT_ALLOCATOR=platform",
			"async":    "XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async",
		},
		"tensorflow": {
			"default": "TF_FORCE_GPU_ALLOW_GROWTH=",
			"growing": "TF_FORCE_GPU_ALLOW_GROWTH=true",
			"async":   "TF_GPU_ALLOCATOR=cuda_malloc_async",
		},
	} {
		t.Run(library, func(t *testing.T) {
			for _, site := range releases(t, library) {
				for name, setting := range settings {
					t.Run(filepath.Base(site)+"/"+name, func(t *testing.T) {
						recorded(t, filepath.Base(site)+"-"+name, "record_"+library+".py", site, setting)
					})
				}
			}
		})
	}
}

// recorded runs a program of probe/agent/testdata with a library on the fake driver, and compares its
// answers with the recorded ones, or records them.
func recorded(t *testing.T, name, program, site, setting string) {
	t.Helper()
	cmd := exec.Command("../fake-gpu", "--gpus", "1", "--processes", "0", "--cudart", "--", "python3", filepath.Join(filepath.Dir(recordings), program))
	cmd.Env = append(os.Environ(), "PYTHONPATH="+site, "PYTHONDONTWRITEBYTECODE=1", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK=1", setting)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	answers, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	path := filepath.Join(recordings, name+".json")
	if os.Getenv("VRAMSCOPE_RECORD") != "" {
		if err := os.WriteFile(path, answers, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Skipf("%s is not recorded: scripts/real-libraries --record", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(answers, want) {
		t.Errorf("it answers otherwise than %s (scripts/real-libraries --record writes it):\n%s", path, answers)
	}
}

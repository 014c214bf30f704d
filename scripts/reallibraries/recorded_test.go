//go:build linux && cgo

package reallibraries

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// recordings is what real libraries answer to the probe, for tests without them:
// probe/agent/testdata/test_recorded.py. VRAMSCOPE_RECORD, set by
// scripts/real-libraries --record, writes it anew.
const recordings = "../../probe/agent/testdata/recorded"

// TestRecordedPyTorch compares what each release answers with what is recorded.
func TestRecordedPyTorch(t *testing.T) {
	if os.Getenv("VRAMSCOPE_REAL_CORE") != "" {
		t.Skip("not of the core")
	}
	for _, site := range releases(t, "torch") {
		for name, setting := range map[string]string{
			"native":     "PYTORCH_CUDA_ALLOC_CONF=",
			"expandable": "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
			"async":      "PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync",
			"uncached":   "PYTORCH_NO_CUDA_MEMORY_CACHING=1",
		} {
			t.Run(filepath.Base(site)+"/"+name, func(t *testing.T) {
				recorded(t, filepath.Base(site)+"-"+name, "record_torch.py", site, setting)
			})
		}
	}
}

// recorded runs a program of probe/agent/testdata with a library on the fake driver.
func recorded(t *testing.T, name, program, site, setting string) {
	t.Helper()
	cmd := exec.Command("../fake-gpu", "--gpus", "1", "--processes", "0", "--cudart", "--", "python3", filepath.Join(filepath.Dir(recordings), program))
	cmd.Env = append(os.Environ(), "PYTHONPATH="+site, "PYTHONDONTWRITEBYTECODE=1", setting)
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

package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/internal/quantity"
)

func TestHints(t *testing.T) {
	for environment, want := range map[string]struct {
		importance  int
		known       bool
		distributed string
	}{
		"A=b\x00":                            {},
		"VRAMSCOPE_IMPORTANCE=-500\x00A=b":   {-500, true, ""},
		"VRAMSCOPE_IMPORTANCE=high":          {},
		"WORLD_SIZE=1\x00RANK=0":             {},
		"RANK=0\x00WORLD_SIZE=8":             {0, false, "WORLD_SIZE=8"},
		"OMPI_COMM_WORLD_SIZE=2":             {0, false, "OMPI_COMM_WORLD_SIZE=2"},
		"WORLD_SIZE=99999999999999999999999": {},
		"WORLD_SIZE=\x1b[2J":                 {},
	} {
		w := hintsIn([]byte(environment))
		value, known := w.Importance.Value()
		if distributed, ok := w.Distributed.Value(); value != want.importance || known != want.known || distributed != want.distributed || !ok {
			t.Errorf("%q: %+v", environment, w)
		}
	}
}

// TestRankAndLimits: the rank of a job's own launcher is surer than its scheduler's.
func TestRankAndLimits(t *testing.T) {
	w := hintsIn([]byte("RANK=5\x00SLURM_PROCID=1\x00PMI_RANK=-1\x00CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=2G\x00CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=30.5\x00"))
	if w.Rank.Or(-1) != 5 || w.MPSMemory != "0=2G" || w.MPSThreads.Or(0) != 30.5 {
		t.Errorf("%+v", w)
	}
	w = hintsIn([]byte("RANK=-1\x00CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=300\x00"))
	if w.Rank.Known() || w.MPSThreads.Known() {
		t.Errorf("%+v", w)
	}
	const gib = quantity.GiB
	for limits, want := range map[string]quantity.Bytes{
		"0=2G": 2 * gib, "0=2G,1=2048M": 2 * gib, "0=2G,1=10240M": 0, "0=2G,1=10240M,GPU-8f1c=3G": 3 * gib, "GPU-77=3G": 0, "GPU-8f1c2d=512M": gib / 2,
		"": 0, "4GB": 0, "=1G": 0, "0=1G,1": 0, "0=lots": 0, "0=-1G": 0, "0=0": 0, "=": 0,
	} {
		h := Hints{MPSMemory: limits}
		if limit := h.MPSLimit("GPU-8f1c2d3e"); limit.Or(0) != want || limit.Known() != (want > 0) {
			t.Errorf("%q: %v", limits, limit)
		}
	}
}

// A program that sets its title writes over its environment: what that said is not known.
func TestWishesOfAnEnvironmentThatIsNotWhole(t *testing.T) {
	for name, environment := range map[string]string{
		"empty": "", "cleared": "\x00\x00\x00\x00", "a title": "ray::Worker.step\x00\x00\x00", "its end": "p --lr=1\x00\x00\x00",
		"the rest": "title\x00\x00A=b\x00", "cut": "A=" + strings.Repeat("x", environmentSize-2),
	} {
		if w := hintsIn([]byte(environment)); w.Distributed.Known() {
			t.Errorf("%s: %+v", name, w)
		}
	}
	if w := hintsIn([]byte("title\x00\x00WORLD_SIZE=4\x00")); w.Distributed.Or("") != "WORLD_SIZE=4" {
		t.Errorf("%+v", w)
	}
}

func TestNCCLThread(t *testing.T) {
	for comm, want := range map[string]string{"python3\n": "", "pt_nccl_watchdg\n": "an NCCL thread", "NCCL Progress 0\n": "an NCCL thread"} {
		dir := t.TempDir()
		for i, name := range []string{"python3\n", comm} {
			task := filepath.Join(dir, "task", string(rune('1'+i)))
			if err := os.MkdirAll(task, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(task, "comm"), []byte(name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := ncclThread(dir); got != want {
			t.Errorf("%q: %q", comm, got)
		}
	}
}

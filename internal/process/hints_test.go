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

// TestRankAndLimits: the rank that a job's own launcher sets is more reliable than the scheduler's.
func TestRankAndLimits(t *testing.T) {
	w := hintsIn([]byte("RANK=5\x00SLURM_PROCID=1\x00PMI_RANK=-1\x00CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=2G\x00CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=30.5\x00"))
	if w.Rank.Or(-1) != 5 || w.MPSMemory != "0=2G" || w.MPSThreads.Or(0) != 30.5 {
		t.Errorf("%+v", w)
	}
	w = hintsIn([]byte("RANK=-1\x00CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=300\x00"))
	if w.Rank.Known() || w.MPSThreads.Known() {
		t.Errorf("%+v", w)
	}
}

// TestMPSLimit: a limit that names its GPU by CUDA's number counts only if that certainly means this
// GPU, or if all GPUs have that limit.
func TestMPSLimit(t *testing.T) {
	const gib = quantity.GiB
	const uuid, other = "GPU-8f1c2d3e-0000", "GPU-77777777-0000"
	for _, c := range []struct {
		limits, visible string
		gpus            int
		want            quantity.Bytes
	}{
		{"0=2G", "", 1, 2 * gib},
		{"0=2G", "0", 1, 2 * gib},
		{"1=2G", "", 1, 0},
		{"0=2G", "", 2, 0},
		{"0=2G,1=2048M", "1,0", 2, 2 * gib},
		{"0=2G,1=2048M", "", 3, 0},
		{"0=2G,2=2G", "", 2, 0},
		{"0=2G,0=2G", "", 2, 0},
		{"0=2G,0=3G", "", 1, 0},
		{"0=2G,1=10240M", "", 2, 0},
		{"0=2G,1=10240M", "1", 2, 0},
		{"0=2G,1=10240M", other + ", GPU-8f1c2d3e", 2, 10 * gib},
		{"0=2G,1=10240M", uuid, 2, 2 * gib},
		{"0=2G", other + "," + uuid, 2, 0},
		{"0=2G", "GPU-8f1c", 2, 0},
		{"0=2G,1=10240M,GPU-8f1c2d3e=3G", "", 2, 3 * gib},
		{"0=2G,GPU-8f1c2d3e=3G", "", 1, 3 * gib},
		{uuid + "=512M", "", 2, gib / 2},
		{"GPU-77777777=3G", "", 2, 0},
		{"GPU-8f1c2d3=1G", "", 2, 0},
		{"GPU-=1G", "", 2, 0},
		{"G=1G", "", 2, 0},
		{"0=2G,GPU-8f=1G", "", 1, 0},
	} {
		h := Hints{MPSMemory: c.limits, Visible: c.visible}
		if limit := h.MPSLimit(uuid, c.gpus); limit.Or(0) != c.want || limit.Known() != (c.want > 0) {
			t.Errorf("%+v: %v", c, limit)
		}
	}
	for _, limits := range []string{"", "4GB", "=1G", "0=1G,1", "0=lots", "0=-1G", "0=0", "="} {
		h := Hints{MPSMemory: limits}
		if limit := h.MPSLimit(uuid, 1); limit.Known() {
			t.Errorf("%q: %v", limits, limit)
		}
	}
}

// TestLimitThatWasCut: "GPU-…=10" may be the start of "GPU-…=10240M".
func TestLimitThatWasCut(t *testing.T) {
	limits := "GPU-8f1c2d3e=10240M"
	long := strings.Repeat("GPU-77777777=1G,", 63) + limits
	w := hintsIn([]byte("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=" + long + "\x00CUDA_VISIBLE_DEVICES=" + strings.Repeat("GPU-77777777,", 79) + "\x00"))
	if w.MPSMemory != "" || w.Visible != "" {
		t.Errorf("of %d bytes: %+v", len(long), w)
	}
	name := "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT="
	start := "A=" + strings.Repeat("x", environmentSize-2-len("\x00"+name+limits)+3) + "\x00"
	if w := hintsIn([]byte((start + name + limits)[:environmentSize])); w.MPSMemory != "" {
		t.Errorf("in an environment that was cut: %+v", w)
	}
	if w := hintsIn([]byte("CUDA_VISIBLE_DEVICES=" + limits[:12] + "\x00" + name + limits + "\x00" + start)[:environmentSize]); w.MPSMemory != limits || w.Visible != limits[:12] {
		t.Errorf("before the cut: %+v", w)
	}
}

// A program that sets its title overwrites its environment, whose former content is unknown.
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

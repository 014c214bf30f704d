package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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

package sources

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"vramscope/internal/needs"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

func TestReplayedError(t *testing.T) {
	needs.Tool(t, "python3")
	site := t.TempDir() // with the stand-in for PyTorch
	if err := os.CopyFS(site, os.DirFS("../../memoryviz/whatif/testdata")); err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(site, "torch/lib/libc10_cuda.so")
	if err := os.MkdirAll(filepath.Dir(library), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(library, []byte("libcudart.so.12"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", site)
	const mib = quantity.MiB
	trace := func(more string) []byte {
		name := filepath.Join(t.TempDir(), "trace")
		cmd := exec.CommandContext(t.Context(), "python3", "-c", `import pickle, sys
event = lambda action, address, mib, **more: dict(action=action, addr=address, size=mib << 20, stream=0, **more)
history = [event("segment_alloc", 1, 10), event("alloc", 1, 10), `+more+`]
block = {"state": "active_allocated", "size": 10 << 20}
whole = {"device_traces": [history], "segments": [dict(device=0, address=1, total_size=10 << 20, stream=0, blocks=[block])]}
pickle.dump(whole, open(sys.argv[1], "wb"))`, name)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		content, err := ReadTrace(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	failed := trace(`event("oom", 0, 40, device_free=5 << 20)`)
	all, err := ReplayedError(t.Context(), failed, "python3", 41*mib, 10*mib)
	if err != nil || len(all) != 5 || !all[0].Fails || all[0].Reserved != 51*mib || !all[1].Fails || all[1].Settings != "expandable_segments:True" {
		t.Errorf("%+v, %v", all, err)
	}
	for want, c := range map[string]struct {
		trace     []byte
		requested quantity.Bytes
		python    string
	}{
		"it does not end in this error, of 39M": {failed, 39 * mib, "python3"},
		"it does not end in this error, of 80M": {failed, 80 * mib, "python3"},
		"it does not end in this error, of 40M": {trace(""), 40 * mib, "python3"},
		"it is an estimate: it does not begin":  {trace(`event("free_completed", 9, 2), event("oom", 0, 40, device_free=5 << 20)`), 40 * mib, "python3"},
		"no Python: ":                           {failed, 40 * mib, "/nothing"},
	} {
		if all, err := ReplayedError(t.Context(), c.trace, c.python, c.requested, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v", want, all, err)
		}
	}
}

// A trace is a regular file. For root, it belongs to root or to a user whom allowed accepts.
func TestReadTrace(t *testing.T) {
	directory := t.TempDir()
	file, link, fifo := filepath.Join(directory, "file"), filepath.Join(directory, "link"), filepath.Join(directory, "fifo")
	if err := errors.Join(os.WriteFile(file, []byte("trace"), 0o600), os.Symlink(file, link), unix.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	refused := map[string]string{link: "too many levels of symbolic links", fifo: "it is no regular file", directory: "it is no regular file", file + "-2": "no such file"}
	for name, want := range refused {
		if _, err := ReadTrace(name, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	none := func(uint32) bool { return false }
	for name, allowed := range map[string]func(uint32) bool{"all": nil, "none": none} {
		if content, err := ReadTrace(file, allowed); err != nil || string(content) != "trace" {
			t.Errorf("%s: %q, %v", name, content, err)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(file, 4711, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTrace(file, none); err == nil || !strings.Contains(err.Error(), "it belongs neither to root") {
		t.Error(err)
	}
	if _, err := ReadTrace(file, func(uid uint32) bool { return uid == 4711 }); err != nil {
		t.Error(err)
	}
}

// Replayed refuses these processes before it asks the probe.
func TestWhatIsNotReplayed(t *testing.T) {
	table := process.NewTable("/proc")
	id, err := table.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	row := snapshot.Process{ID: snapshot.RowID{Process: id, GPUUUID: "GPU-0"}}
	other := row
	other.ID.GPUUUID = "GPU-1"
	for want, c := range map[string]struct {
		table *process.Table
		rows  []snapshot.Process
	}{
		"a simulated process has no memory history":        {nil, []snapshot.Process{row}},
		"uses 0 GPUs here, not one":                        {table, nil},
		"uses 2 GPUs here, not one":                        {table, []snapshot.Process{row, other}},
		"does not run under vramscope run --record-memory": {table, []snapshot.Process{row}},
	} {
		src := &Set{Table: c.table}
		if all, err := src.Replayed(t.Context(), &snapshot.Snapshot{Rows: c.rows}, id.PID); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %+v, %v", want, all, err)
		}
	}
}

// The room is known only for a process on a single GPU.
func TestRoomOf(t *testing.T) {
	size := func(n quantity.Bytes) snapshot.Bytes { return quantity.From(n, quantity.Driver) }
	row := snapshot.Process{Used: size(30), Other: size(4), ID: snapshot.RowID{GPUUUID: "GPU-0"}}
	row.ID.Process.PID = 7
	other := row
	other.ID.GPUUUID = "GPU-1"
	unknown := row
	unknown.Other = snapshot.Bytes{}
	for want, rows := range map[string][]snapshot.Process{"76B 4B": {row}, "0 0": {row, other}, "0 0 ": {unknown}, " 0 0": nil} {
		snap := &snapshot.Snapshot{Rows: rows, GPUs: []snapshot.GPU{{UUID: "GPU-0", Memory: snapshot.Memory{Total: size(80), Free: size(50)}}}}
		if got := fmt.Sprint(RoomOf(snap, 7)); got != strings.TrimSpace(want) {
			t.Errorf("%v: %s", rows, got)
		}
	}
}

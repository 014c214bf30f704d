package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/cli/command"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
)

// TestRecordedNeedIsAnUpperQuantile of the peaks of the user's own runs that have ended; where there are none it refuses.
func TestRecordedNeedIsAnUpperQuantile(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "recordings")
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stderr.Close() }() // it is read by its path
	p := &command.Program{Recordings: directory, Stderr: stderr, Now: time.Now}
	train := []string{"python3", "-u", "/home/me/train.py", "--batch", "64"}
	_, err = recordedNeed(p, train)
	if refusal, is := errors.AsType[*command.Failure](err); !is || refusal.Code != command.ExitRefused {
		t.Errorf("without recordings: %v", err)
	}
	w := recording.Start(directory, recording.Options{FullCommands: true})
	at, gpus := time.Now().Truncate(time.Second).Add(-time.Hour), []snapshot.GPU{{UUID: "GPU-0", State: snapshot.GPUOK}, {Index: 1, UUID: "GPU-1", State: snapshot.GPUOK}}
	pid := 100
	run := func(uid uint32, used quantity.Bytes, ends bool, uuids []string, argv ...string) {
		t.Helper()
		var rows []snapshot.Process
		for _, uuid := range uuids {
			rows = append(rows, snapshot.Process{ID: snapshot.RowID{Process: process.Identity{PID: pid, StartTime: 7}, GPUUUID: uuid}, UID: quantity.From(uid, quantity.System),
				Command: argv, Used: quantity.From(used, quantity.Driver), Peak: quantity.From(used, quantity.Driver)})
		}
		for _, rows := range [][]snapshot.Process{rows, nil} {
			if !ends && rows == nil {
				continue
			}
			at = at.Add(time.Second)
			for w.Append(&snapshot.Snapshot{Time: at, Driver: snapshot.Driver{State: snapshot.DriverOK}, GPUs: gpus, Rows: rows}, nil) != nil {
				time.Sleep(time.Millisecond) // the disk may be behind
			}
		}
		pid++
	}
	me := uint32(os.Geteuid())
	for n := range 40 { // 1 to 40 GiB
		run(me, quantity.Bytes((n*7)%40+1)*quantity.GiB, true, []string{"GPU-0"}, "/usr/bin/python3", "/srv/train.py", fmt.Sprint(n))
	}
	run(me+1, 70*quantity.GiB, true, []string{"GPU-0"}, train...)
	run(me, 60*quantity.GiB, true, []string{"GPU-0"}, "python3", "other.py")
	run(me, 9*quantity.GiB, true, []string{"GPU-0", "GPU-1"}, "python3", "two.py")
	run(me, 77*quantity.GiB, false, []string{"GPU-0"}, train...) // it still runs
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	need, err := recordedNeed(p, train)
	if bytes, _ := quantity.ParseBytes(need); err != nil || bytes != 38*quantity.GiB {
		t.Errorf("it needs %s: %v", need, err)
	}
	said, _ := os.ReadFile(stderr.Name())
	if !strings.Contains(string(said), "need: 38.0G, by the peaks of 40 runs of python3 train.py (1.00G to 40.0G, the last ended ") {
		t.Errorf("it says %q", said)
	}
	for program, want := range map[string]string{"other.py": "", "two.py": "several GPUs", "none.py": "no run of python3 none.py that has ended"} {
		_, err := recordedNeed(p, []string{"python3", program})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", program, err)
		}
	}
}

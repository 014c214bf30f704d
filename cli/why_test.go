package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/cli/command"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// recordedFailure makes a recording in which a simulated PyTorch program asks for
// more than its GPU has, at 12:02.
func recordedFailure(t *testing.T) (directory string, failed snapshot.Event) {
	t.Helper()
	directory, _, _ = recorded(t, func(snap *snapshot.Snapshot) []snapshot.Event {
		if snap.Time.Format(time.TimeOnly) != "12:02:00" {
			return nil
		}
		for i := range snap.Rows {
			p := &snap.Rows[i]
			if p.Runtime != "PyTorch" || !p.Allocated.Known() {
				continue
			}
			failed = snapshot.Event{
				Time: snap.Time, Kind: snapshot.EventOutOfMemory, Severity: snapshot.Urgent, GPU: p.GPU, GPUUUID: p.ID.GPUUUID,
				Row: p.ID, User: p.User, Name: p.Name, Message: "out of memory: asked for 900.0G",
				OutOfMemory: &snapshot.OutOfMemory{
					Requested: quantity.From(900*quantity.GiB, quantity.Probe), Free: quantity.From(quantity.GiB, quantity.Probe), Allocator: "pytorch",
					Allocated: quantity.From(8*quantity.GiB, quantity.Probe), Stack: []string{"train.py:42 in \x1b[2Jforward", "train.py:88 in main"}, Trace: "/home/a/my \x1btraces; ls",
					Held: []snapshot.HeldClass{{Class: "optimizer_state", Bytes: 5 * quantity.GiB}, {Class: "variables", Name: "kept\x1b in main", Bytes: 2 * quantity.GiB}},
				},
			}
			return []snapshot.Event{failed}
		}
		t.Error("no PyTorch program with a probe")
		return nil
	})
	return directory, failed
}

// A directory can have traces of other processes, and older traces of this PID.
func TestWhyRefusesAnotherTrace(t *testing.T) {
	directory, failed := recordedFailure(t)
	traces, pid := t.TempDir(), failed.Row.Process.PID
	for name, c := range map[string]struct {
		at   time.Time
		want string
	}{
		"memory-1.pickle":                      {failed.Time.Add(time.Minute), "it has no trace of PID"},
		fmt.Sprintf("memory-%d.pickle", pid):   {failed.Time.Add(-time.Minute), "it has no trace of PID"},
		fmt.Sprintf("memory-%d-2.pickle", pid): {failed.Time.Add(time.Minute), "no Python: "},
	} {
		path := filepath.Join(traces, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, c.at, c.at)); err != nil {
			t.Fatal(err)
		}
		_, errs, code := ran(t, "why", "--file", directory, "--trace", traces, "--python", "/nothing")
		if code != command.ExitRefused || !strings.Contains(errs, "refused: --trace: "+c.want) {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
		}
		_ = os.Remove(path) // it was written
	}
}

func TestWhyExplainsTheRecordedEvent(t *testing.T) {
	directory, failed := recordedFailure(t)
	pid := strconv.Itoa(failed.Row.Process.PID)
	for _, which := range [][]string{nil, {pid}, {"--last"}, {"--at", "12:00"}} {
		page, errs, code := ran(t, append([]string{"why", "--file", directory}, which...)...)
		if code != command.ExitOK || errs != "" {
			t.Fatalf("%v: exit code %d: %s", which, code, errs)
		}
		for _, want := range []string{"2026-11-20 12:02:00 GPU " + strconv.Itoa(failed.GPU), "PID " + pid + ", " + failed.User, "asked for 900G; 1.00G was free", "The line: train.py:42 in ?[2Jforward, called by train.py:88 in main.",
			"No setting brings 900G onto this device", "WHAT HELD THE 8.00G ALLOCATED", "optimizer state    ", "the variable kept? in main    ", "unnamed (gradients, activations, …)    ",
			"VERDICT: too large by itself", "Other settings, when it has ended:\n  vramscope why " + pid + " --trace '/home/a/my ?traces; ls'"} {
			if !strings.Contains(page, want) {
				t.Errorf("%v: no %q in\n%s", which, want, page)
			}
		}
	}
	document, errs, code := ran(t, "why", "--file", directory, "--format", "json")
	if code != command.ExitOK || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	conforms(t, "why", "why", []byte(document))
	var got struct {
		Verdict        string
		RequestedBytes quantity.Bytes `json:"requested_bytes"`
	}
	if err := json.Unmarshal([]byte(document), &got); err != nil || got.Verdict != "too_large" || got.RequestedBytes != 900*quantity.GiB {
		t.Errorf("%v in %s", err, document)
	}
}

func TestWhyWithoutAnEvent(t *testing.T) {
	directory, failed := recordedFailure(t)
	quiet, _, live := recorded(t)
	_, newest := live.Span()
	then, _ := live.At(newest)
	other := strconv.Itoa(then.Rows[0].ID.Process.PID)
	if page, errs, code := ran(t, "why", "--file", quiet, other); code != command.ExitOK || !strings.Contains(page, "VERDICT: cannot tell") {
		t.Errorf("exit code %d: %s%s", code, errs, page)
	}
	for _, tc := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"--file", t.TempDir()}, command.ExitFailure, []string{"there is no recording", "vramscope daemon --record"}},
		{[]string{"--file", filepath.Join(directory, "none.db")}, command.ExitFailure, []string{"none.db: there is no such file or directory"}},
		{[]string{"--file", quiet}, command.ExitFailure, []string{"no process has run out of memory; the recording is of 2026-11-20 12:00:00 to 2026-11-20 12:02:29", "vramscope attach PID"}},
		{[]string{"--file", quiet, "--at", "12:01"}, command.ExitFailure, []string{"no process has run out of memory"}},
		{[]string{"--file", directory, "999999999"}, command.ExitFailure, []string{"the recording has no PID 999999999; the recording is of"}},
		{[]string{"--file", directory, "--at", "2026-11-20 13:00"}, command.ExitFailure, []string{"--at 2026-11-20 13:00: nothing is recorded of that time", "has 2026-11-20 12:00:00 to"}},
		{[]string{"--file", directory, "--at", "soon"}, command.ExitUsage, []string{`"soon" is no time`}},
		{[]string{"--file", directory, "train.py"}, command.ExitUsage, []string{`"train.py" is not a PID`}},
		{[]string{"--file", directory, "--last", strconv.Itoa(failed.Row.Process.PID)}, command.ExitUsage, []string{"one of PID, --last and --at"}},
		{[]string{"1", "2"}, command.ExitUsage, []string{"why takes one PID, not 2"}},
	} {
		_, errs, code := ran(t, append([]string{"why"}, tc.args...)...)
		if code != tc.code {
			t.Errorf("%v: exit code %d, want %d: %s", tc.args, code, tc.code, errs)
		}
		for _, want := range tc.want {
			if !strings.Contains(errs, want) {
				t.Errorf("%v: %q does not say %q", tc.args, errs, want)
			}
		}
	}
}

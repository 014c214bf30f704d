package flush

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

func TestFlushIsLogged(t *testing.T) {
	b := newPooled("pytorch")
	directory := t.TempDir()
	f := b.flusher()
	f.Log = &action.Log{Directory: directory}
	var events []snapshot.Event
	f.Note = func(e snapshot.Event) { events = append(events, e) }
	request := Request{Process: b.id, Level: Urgent, Devices: []string{b.uuid}, Origin: action.Key("F")}
	if _, err := f.Run(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	b.onFlush = func(int) (string, error) { return "", &process.Refusal{Reason: "PID 7 has ended"} }
	if _, err := f.Run(t.Context(), request); err == nil {
		t.Error("a probe's refusal is no error")
	}
	b.row(b.snap).Probe = nil
	asked := len(b.requests)
	var refusal *process.Refusal
	if _, err := f.Run(t.Context(), request); !errors.As(err, &refusal) || len(b.requests) != asked || len(events) != 1 {
		t.Errorf("without a probe: %v, %d events", err, len(events))
	}
	content, err := os.ReadFile(filepath.Join(directory, action.LogName))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(content), "\n")
	for i, outcome := range []string{"begin", "flushed", "begin", "refused", "refused"} {
		for _, want := range []string{`"outcome":"` + outcome + `"`, `"action":"flush"`, `"level":"urgent"`, `"why":"key F"`, `"gpus":[3]`, `"devices":["` + b.uuid + `"]`} {
			if !strings.Contains(lines[i], want) {
				t.Errorf("line %d has no %s: %s", i, want, lines[i])
			}
		}
	}
	if !strings.Contains(lines[1], `"freed_bytes":8589934592`) || !strings.Contains(lines[1], `"driver_freed_bytes":8589934592`) || !strings.Contains(lines[4], "has no probe") {
		t.Errorf("the log is %q", lines)
	}
}

func TestDryRunIsNotLogged(t *testing.T) {
	b := newPooled("pytorch")
	f := b.flusher()
	f.Log = &action.Log{Directory: filepath.Join(t.TempDir(), "state")}
	if _, err := f.Run(t.Context(), Request{Process: b.id, Level: Gradual, DryRun: true}); err != nil {
		t.Fatal(err)
	}
	b.row(b.snap).Probe = nil
	if _, err := f.Run(t.Context(), Request{Process: b.id, Level: Gradual, DryRun: true}); err == nil {
		t.Error("a process without probe was asked")
	}
	if _, err := os.Stat(f.Log.Directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a log: %v", err)
	}
}

func TestNothingIsFlushedThatCannotBeLogged(t *testing.T) {
	b := newPooled("pytorch")
	f := b.flusher()
	f.Log = &action.Log{Directory: "not/absolute"}
	var refusal *process.Refusal
	if _, err := f.Run(t.Context(), Request{Process: b.id, Level: Gradual}); !errors.As(err, &refusal) || len(b.requests) != 0 ||
		!strings.Contains(refusal.Reason, "set XDG_STATE_HOME to a directory that only you can write") {
		t.Errorf("%v, %d requests", err, len(b.requests))
	}
}

package signal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

func TestSignalIsSentAndLogged(t *testing.T) {
	id := process.Identity{PID: 7, StartTime: 8}
	snap := &snapshot.Snapshot{Rows: []snapshot.Process{{
		ID: snapshot.RowID{Process: id, GPUUUID: "GPU-1"}, GPU: 3, User: "bob", Command: []string{"python3", "eval.py"},
	}}}
	directory, answer := t.TempDir(), error(nil)
	var sent []syscall.Signal
	var events []snapshot.Event
	s := &Sender{
		Send: func(_ context.Context, to process.Identity, signal syscall.Signal) error {
			if to != id {
				t.Errorf("it goes to %+v", to)
			}
			sent = append(sent, signal)
			return answer
		},
		Latest: func() *snapshot.Snapshot { return snap }, Log: &action.Log{Directory: directory},
		Note: func(e snapshot.Event) { events = append(events, e) }, Clock: time.Now,
	}
	request := Request{Process: id, Signal: syscall.SIGTERM, Origin: action.Key("x")}
	result, err := s.Run(t.Context(), request)
	if err != nil || result.Sentence(7) != "sent SIGTERM to 7" || len(sent) != 1 || sent[0] != syscall.SIGTERM {
		t.Fatalf("%+v, %v, sent %v", result, err, sent)
	}
	if len(events) != 1 || events[0].Message != "sent SIGTERM" || events[0].GPU != 3 || events[0].User != "bob" || events[0].Name != "eval.py" {
		t.Errorf("the events are %+v", events)
	}
	answer = &process.Refusal{Reason: "PID 7 is another process now"}
	if _, err := s.Run(t.Context(), request); !errors.Is(err, answer) || len(events) != 1 {
		t.Errorf("%v, %d events", err, len(events))
	}
	answer = syscall.EPERM
	if _, err := s.Run(t.Context(), request); !errors.Is(err, answer) || len(events) != 2 ||
		events[1].Kind != snapshot.EventFailed || events[1].GPU != 3 || events[1].Message != "SIGTERM failed: operation not permitted" {
		t.Errorf("%v, the events are %+v", err, events)
	}
	content, err := os.ReadFile(filepath.Join(directory, action.LogName))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(content), "\n")
	for i, want := range []string{`"outcome":"begin"`, `"outcome":"sent"`, `"outcome":"begin"`, `"outcome":"refused"`, `"outcome":"begin"`, `"outcome":"failed"`} {
		for _, want := range []string{want, `"action":"signal"`, `"signal":"SIGTERM"`, `"why":"key x"`, `"target_user":"bob"`, `"gpus":[3]`} {
			if !strings.Contains(lines[i], want) {
				t.Errorf("line %d has no %s: %s", i, want, lines[i])
			}
		}
	}
	// An action that cannot be logged is not done.
	s.Log.Directory = filepath.Join(directory, action.LogName)
	if _, err := s.Run(t.Context(), request); err == nil || len(sent) != 3 {
		t.Errorf("without a log: %v, %d signals", err, len(sent))
	}
}

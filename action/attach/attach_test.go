package attach

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// fakeWay is a way into one process.
type fakeWay struct {
	command []string // if it can be read
	checks  []Check
	entered int
	err     error
}

func (w *fakeWay) Examine(_ context.Context, id process.Identity) Plan {
	return Plan{Process: id, User: "bob", Command: w.command, Method: GDB, Interpreter: "/usr/bin/python3", Version: "3.11.2", Checks: w.checks}
}

func (w *fakeWay) Enter(context.Context, *Plan) (Result, error) {
	w.entered++
	return Result{Method: GDB, Standstill: 12 * time.Millisecond, Took: time.Second}, w.err
}

func TestAttachIsLogged(t *testing.T) {
	id := process.Identity{PID: 7, StartTime: 8}
	snap := &snapshot.Snapshot{Rows: []snapshot.Process{{ID: snapshot.RowID{Process: id, GPUUUID: "GPU-1"}, GPU: 3, User: "bob", Command: []string{"python3", "eval.py"}}}}
	way, directory := &fakeWay{command: []string{"python3", "eval.py"}, checks: []Check{{OK: true, Text: "your own process"}}}, t.TempDir()
	var events []snapshot.Event
	a := &Attacher{
		Way: way, Latest: func() *snapshot.Snapshot { return snap }, Log: &action.Log{Directory: directory},
		Note: func(e snapshot.Event) { events = append(events, e) }, Clock: time.Now,
	}
	request := Request{Process: id, Origin: action.Command("attach")}
	result, err := a.Run(t.Context(), request)
	if got := Sentence(7, result); err != nil || got != "attached to 7 (paused 12 ms)" {
		t.Errorf("%q, %v", got, err)
	}
	if len(events) != 1 || events[0].Kind != snapshot.EventAttach || events[0].GPU != 3 || events[0].User != "bob" || events[0].Name != "eval.py" ||
		events[0].Message != "attached a probe to 7 by gdb (paused 12 ms)" {
		t.Errorf("the events are %+v", events)
	}
	way.err = errors.New("attach to PID 7: it has ended meanwhile")
	if _, err := a.Run(t.Context(), request); !errors.Is(err, way.err) {
		t.Error(err)
	}
	if len(events) != 2 || events[1].Kind != snapshot.EventFailed || events[1].Message != "attach failed: attach to PID 7: it has ended meanwhile" {
		t.Errorf("the events are %+v", events)
	}
	way.checks = append(way.checks, Check{Text: "it has a probe already"})
	var refusal *process.Refusal
	if _, err := a.Run(t.Context(), request); !errors.As(err, &refusal) || way.entered != 2 || len(events) != 2 {
		t.Errorf("%v, entered %d times", err, way.entered)
	}
	content, err := os.ReadFile(filepath.Join(directory, action.LogName))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(content), "\n")
	for i, outcome := range []string{"begin", "attached", "begin", "failed", "refused"} {
		for _, want := range []string{`"outcome":"` + outcome + `"`, `"method":"gdb"`, `"interpreter":"/usr/bin/python3"`, `"gpus":[3]`, `"command":["python3","eval.py"]`} {
			if !strings.Contains(lines[i], want) {
				t.Errorf("line %d has no %s: %s", i, want, lines[i])
			}
		}
		if strings.Contains(lines[i], `"standstill_ms":12`) != (outcome == "attached" || outcome == "failed") {
			t.Errorf("line %d: %s", i, lines[i])
		}
	}
	// An action that cannot be logged is not done.
	way.checks, a.Log.Directory = way.checks[:1], filepath.Join(directory, action.LogName)
	if _, err := a.Run(t.Context(), request); !errors.As(err, &refusal) || way.entered != 2 {
		t.Errorf("without a log: %v, entered %d times", err, way.entered)
	}
}

// The log has the command that the process runs now or, if that cannot be read, the one in the snapshot.
func TestLogHasTheCommand(t *testing.T) {
	id := process.Identity{PID: 7, StartTime: 8}
	snap := &snapshot.Snapshot{Rows: []snapshot.Process{{ID: snapshot.RowID{Process: id}, Command: []string{"python3", "train.py"}}}}
	for want, command := range map[string][]string{"train.py": nil, "eval.py": {"python3", "eval.py"}} {
		directory := t.TempDir()
		a := &Attacher{Way: &fakeWay{command: command}, Latest: func() *snapshot.Snapshot { return snap }, Log: &action.Log{Directory: directory}}
		if _, err := a.Run(t.Context(), Request{Process: id, Origin: action.Command("attach")}); err != nil {
			t.Error(err)
		}
		content, err := os.ReadFile(filepath.Join(directory, action.LogName))
		if err != nil || !strings.Contains(string(content), `"command":["python3","`+want+`"]`) {
			t.Errorf("%q: %s, %v, want %s", command, content, err, want)
		}
	}
}

func TestSentence(t *testing.T) {
	for want, r := range map[string]Result{
		"attached to 7":                         {Method: RemoteExec},
		"attached to 7 (paused less than 1 ms)": {Method: GDB, Standstill: 300 * time.Microsecond},
		"attached to 7 (paused 1 ms)":           {Method: GDB, Standstill: time.Millisecond},
		"attached to 7 (paused 59 ms)":          {Method: GDB, Standstill: 59200 * time.Microsecond},
	} {
		if got := Sentence(7, r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

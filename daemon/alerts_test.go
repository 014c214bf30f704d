package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/schema"
)

const waitLimit = time.Minute

// newAlerts returns Alerts of the user with this uid, which have observed nothing yet, and their log.
func newAlerts(t *testing.T, uid uint32, command ...string) (*Alerts, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	a := NewAlerts(command, snapshottest.Now(), slog.New(newHandler(log, false)))
	a.uid = uid
	return a, log
}

// alerting returns a snapshot with these alerts and rows of users alice (1001) on GPU-a
// and bob (1002) on GPU-a and GPU-b.
func alerting(alerts ...snapshot.Alert) *snapshot.Snapshot {
	owned := func(pid int, uid uint32, gpu string) snapshot.Process {
		p := snapshot.Process{ID: snapshot.RowID{GPUUUID: gpu}, UID: quantity.From(uid, quantity.System)}
		p.ID.Process.PID = pid
		return p
	}
	return &snapshot.Snapshot{
		Time: snapshottest.Now(), Host: snapshot.Host{Name: "box"}, Alerts: alerts,
		GPUs: []snapshot.GPU{{Index: 0, UUID: "GPU-a"}, {Index: 1, UUID: "GPU-b"}},
		Rows: []snapshot.Process{owned(1, 1001, "GPU-a"), owned(2, 1002, "GPU-a"), owned(3, 1002, "GPU-b")},
	}
}

func about(s *snapshot.Snapshot, kind snapshot.AlertKind, gpu string, pid int) snapshot.Alert {
	a := snapshot.Alert{Kind: kind, GPUUUID: gpu, Since: snapshottest.Now(), Message: "GPU full"}
	for i := range s.Rows {
		if s.Rows[i].ID.Process.PID == pid {
			a.Row = s.Rows[i].ID
		}
	}
	return a
}

func (a *Alerts) pending() (kinds []string) {
	for {
		select {
		case doc := <-a.waiting:
			kinds = append(kinds, doc.Alert.Kind)
		default:
			return kinds
		}
	}
}

func TestAlertsOfTheUsersOwnProcesses(t *testing.T) {
	rows := alerting()
	for _, c := range []struct {
		name  string
		uid   uint32
		alert snapshot.Alert
		want  bool
	}{
		{"alice's process leaks", 1001, about(rows, snapshot.AlertLeak, "GPU-a", 1), true},
		{"bob's leaks beside it", 1001, about(rows, snapshot.AlertLeak, "GPU-a", 2), false},
		{"bob fills the GPU that alice is on", 1001, about(rows, snapshot.AlertFullIn, "GPU-a", 2), true},
		{"bob fills another", 1001, about(rows, snapshot.AlertFullIn, "GPU-b", 3), false},
		{"the driver", 1001, about(rows, snapshot.AlertDriver, "", 0), true},
		{"the driver, without a process", 1003, about(rows, snapshot.AlertDriver, "", 0), false},
		{"root", 0, about(rows, snapshot.AlertLeak, "GPU-b", 3), true},
	} {
		a, _ := newAlerts(t, c.uid, "true")
		a.observe(alerting(c.alert))
		if got := a.pending(); (len(got) == 1) != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// TestAlertIsHandedOnOnce: an alert is passed on once while it stands, and again if it returns
// after it was cleared.
func TestAlertIsHandedOnOnce(t *testing.T) {
	a, _ := newAlerts(t, 0, "true")
	alert := about(alerting(), snapshot.AlertFullIn, "GPU-a", 1)
	old := about(alerting(), snapshot.AlertLeak, "GPU-a", 1)
	old.Since = snapshottest.Now().Add(-time.Minute) // the previous daemon has reported the alert
	for range 3 {
		a.observe(alerting(alert, old))
	}
	if got := a.pending(); !slices.Equal(got, []string{"full_in"}) {
		t.Errorf("handed on: %v", got)
	}
	a.observe(alerting())
	a.observe(alerting(alert))
	if got := a.pending(); len(got) != 1 {
		t.Errorf("raised again: %v", got)
	}
}

// TestAlertsAreLimited: after a burst, commandsAnHour alerts an hour are passed on. The others are counted.
func TestAlertsAreLimited(t *testing.T) {
	a, log := newAlerts(t, 0, "true")
	runs, at := 0, snapshottest.Now()
	for range 100 {
		for _, alerts := range [][]snapshot.Alert{{about(alerting(), snapshot.AlertFullIn, "GPU-a", 1)}, nil} {
			snap := alerting(alerts...)
			at = at.Add(time.Second)
			snap.Time = at
			a.observe(snap)
		}
		runs += len(a.pending())
	}
	if most := commandBurst + 200*commandsAnHour/3600 + 1; runs < commandBurst || runs > most {
		t.Errorf("%d runs, want %d to %d", runs, commandBurst, most)
	}
	if a.dropped == 0 || strings.Count(log.String(), "too many alerts") == 0 {
		t.Errorf("dropped %d, logged %q", a.dropped, log)
	}
}

// TestCommandGetsTheAlert: the command gets JSON of the alert's schema, and little of the environment.
func TestCommandGetsTheAlert(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	t.Setenv("SECRET", "hush")
	a, _ := newAlerts(t, 0, "/bin/sh", "-c", "cat > "+out+"; env >> "+out)
	snap := alerting(about(alerting(), snapshot.AlertFullIn, "GPU-a", 1))
	if err := a.call(t.Context(), schema.AlertOf(snap, &snap.Alerts[0])); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var doc schema.AlertDocument
	if err := json.NewDecoder(bytes.NewReader(content)).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	if doc.Schema != schema.AlertVersion || doc.Alert.Kind != "full_in" || doc.GPU == nil || doc.GPU.UUID != "GPU-a" || doc.Process == nil || doc.Process.PID != 1 {
		t.Errorf("%+v", doc)
	}
	if !strings.Contains(string(content), "PATH=") || strings.Contains(string(content), "hush") {
		t.Errorf("the environment:\n%s", content)
	}
}

func TestFailingCommandIsLogged(t *testing.T) {
	a, log := newAlerts(t, 0, "/bin/sh", "-c", "echo no such mailbox >&2; exit 3")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); a.run(ctx) }()
	a.waiting <- schema.AlertDocument{}
	a.waiting <- schema.AlertDocument{} // this alert is taken when the first has failed
	for deadline := time.Now().Add(waitLimit); len(a.waiting) > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-ended
	if !strings.Contains(log.String(), "exit status 3: no such mailbox") {
		t.Errorf("logged %q", log)
	}
}

// TestSlowCommandIsKilled: the processes of its group are killed with it.
func TestSlowCommandIsKilled(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	a, _ := newAlerts(t, 0, "/bin/sh", "-c", "sleep 1000 & echo $! > "+pid+"; wait")
	var content []byte
	for a.timeout = 200 * time.Millisecond; len(content) == 0; a.timeout *= 2 { // on a loaded machine the command may not get this far in time
		err := a.call(t.Context(), schema.AlertDocument{})
		if err == nil || !strings.Contains(err.Error(), "did not end in "+a.timeout.String()+" and was killed") {
			t.Fatalf("%v", err)
		}
		content, _ = os.ReadFile(pid)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		t.Fatal(err)
	}
	gone := func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(child) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	}
	for deadline := time.Now().Add(waitLimit); !gone(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("its child %d lives", child)
		}
	}
}

// TestTalkativeCommandIsBounded: a command that prints endlessly is killed in time. The daemon needs
// little memory for it, and logs a short line.
func TestTalkativeCommandIsBounded(t *testing.T) {
	var before, after runtime.MemStats
	a, log := newAlerts(t, 0, "/bin/sh", "-c", "yes; exit 1")
	a.timeout = time.Second
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	runtime.ReadMemStats(&before)
	go func() { defer close(ended); a.run(ctx) }()
	a.waiting <- schema.AlertDocument{}
	a.waiting <- schema.AlertDocument{} // this alert is taken when the first command was killed
	for deadline := time.Now().Add(waitLimit); len(a.waiting) > 0 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	cancel() // as SIGTERM does
	<-ended
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 20<<20 {
		t.Errorf("its output took %d MB", took>>20)
	}
	if !strings.Contains(log.String(), "did not end in 1s and was killed: y") || log.Len() > 3*mostOutput {
		t.Errorf("logged %d bytes: %.300s", log.Len(), log)
	}
}

// TestCommandOthersCanWriteIsNotRun: a command is not run if others can write its file, or a
// directory above it.
func TestCommandOthersCanWriteIsNotRun(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "bin")
	program := filepath.Join(directory, "tell-me")
	if err := errors.Join(os.Mkdir(directory, 0o755), os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		directory, program os.FileMode
		safe               bool
	}{{0o755, 0o755, true}, {0o755, 0o757, false}, {0o757, 0o755, false}} {
		if err := errors.Join(os.Chmod(directory, c.directory), os.Chmod(program, c.program)); err != nil {
			t.Fatal(err)
		}
		a, _ := newAlerts(t, 0, program)
		for _, err := range []error{a.call(t.Context(), schema.AlertDocument{}), CheckCommand(a.command)} {
			if (err == nil) != c.safe || err != nil && !strings.Contains(err.Error(), "is not safe from other users") {
				t.Errorf("directory %o, program %o: %v", c.directory, c.program, err)
			}
		}
	}
	if err := CheckCommand([]string{program + "-later"}); err != nil {
		t.Errorf("one that is not there yet: %v", err)
	}
}

package action

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

func testEntry() Entry {
	e := NewEntry("flush", process.Identity{PID: 7, StartTime: 8}, Command("flush"))
	e.Runs("carol", []string{"python3", "train.py"})
	return e
}

func readLines(t *testing.T, directory string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(directory, LogName))
	if err != nil || !strings.HasSuffix(string(content), "\n") {
		t.Fatalf("%q, %v", content, err)
	}
	return strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
}

func valid(line string) bool { return json.Valid([]byte(line)) }

func readEntry(t *testing.T, line string) Entry {
	t.Helper()
	var e Entry
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return e
}

func TestPanicIsLogged(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "vramscope")
	log := &Log{Directory: directory}
	func() {
		defer func() {
			if recovered := recover(); recovered != "no memory" {
				t.Errorf("recovered %v, want the action's panic", recovered)
			}
		}()
		_ = log.Do(testEntry(), func(*Entry) error { panic("no memory") })
	}()
	lines := readLines(t, directory)
	if e := readEntry(t, lines[len(lines)-1]); len(lines) != 2 || e.Outcome != "failed" || !strings.Contains(e.Reason, "panicked") {
		t.Errorf("the log is %q, want the panic as the outcome", lines)
	}
}

func TestLineBeforeAndAfter(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	directory := filepath.Join(t.TempDir(), "state", "vramscope")
	log := &Log{Directory: directory, User: func() string { return "alice" }, Clock: func() time.Time {
		now = now.Add(time.Second)
		return now
	}}
	err := log.Do(testEntry(), func(e *Entry) error {
		if lines := readLines(t, directory); len(lines) != 1 {
			t.Errorf("while it is done the log is %q", lines)
		}
		freed := quantity.Bytes(42)
		e.Outcome, e.FreedBytes = "flushed", quantity.From(freed, quantity.Probe)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := readLines(t, directory)
	before, after := readEntry(t, lines[0]), readEntry(t, lines[1])
	if before.Outcome != "begin" || before.User != "alice" || before.UID != os.Geteuid() || before.By != "command" ||
		before.Why != "vramscope flush" || before.PID != 7 || before.StartTime != 8 || before.Target != "carol" || before.DurationMS.Known() {
		t.Errorf("before: %s", lines[0])
	}
	if after.Outcome != "flushed" || after.FreedBytes.Or(0) != 42 || after.DurationMS.Or(0) != 1000 || after.Time != "2026-11-20T12:00:04.000Z" {
		t.Errorf("after: %s", lines[1])
	}
	if info, err := os.Stat(filepath.Join(directory, LogName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestLinesWrittenAtOnceStayWhole(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "vramscope")
	const writers, each = 8, 100
	var running sync.WaitGroup
	for range writers {
		running.Go(func() {
			for range each {
				if err := (&Log{Directory: directory}).Do(testEntry(), func(*Entry) error { return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	lines := readLines(t, directory)
	if len(lines) != 2*writers*each || slices.ContainsFunc(lines, func(line string) bool { return !valid(line) }) || slices.Contains(lines, "") {
		t.Errorf("%d lines, want %d; an empty one: %v", len(lines), 2*writers*each, slices.Contains(lines, ""))
	}
}

func TestOutcomeOfErrors(t *testing.T) {
	for _, c := range []struct {
		err             error
		outcome, reason string
	}{
		{errors.New("no answer in time"), "failed", "no answer in time"},
		{&process.Refusal{Reason: "PID 7 has ended"}, "refused", "PID 7 has ended"},
		{fmt.Errorf("probe: %w", &probe.Error{Code: probe.RateLimited, Message: "too many flushes"}), "failed", "too many flushes"},
	} {
		log := &Log{Directory: t.TempDir()}
		if err := log.Do(testEntry(), func(*Entry) error { return c.err }); !errors.Is(err, c.err) {
			t.Errorf("%v becomes %v", c.err, err)
		}
		if e := readEntry(t, readLines(t, log.Directory)[1]); e.Outcome != c.outcome || e.Reason != c.reason {
			t.Errorf("%v is logged as %+v", c.err, e)
		}
	}
}

func TestRefusalIsOneLine(t *testing.T) {
	log := &Log{Directory: t.TempDir()}
	refusal := &process.Refusal{Reason: "PID 7 has no probe"}
	if err := log.Refuse(testEntry(), refusal); !errors.Is(err, refusal) {
		t.Error(err)
	}
	lines := readLines(t, log.Directory)
	if e := readEntry(t, lines[0]); len(lines) != 1 || e.Outcome != "refused" || e.Reason != refusal.Reason {
		t.Errorf("the log is %q", lines)
	}
}

func TestActionWhoseOutcomeCannotBeLoggedIsAnError(t *testing.T) {
	log := &Log{Directory: filepath.Join(t.TempDir(), "state")}
	err := log.Do(testEntry(), func(*Entry) error { return os.Chmod(log.Directory, 0o777) })
	if err == nil || Refused(err) || !strings.HasPrefix(err.Error(), "it is done, but the audit log cannot be written: ") {
		t.Errorf("it says %v", err)
	}
}

func TestSimulatedActionIsNotLogged(t *testing.T) {
	var log *Log
	done := false
	if err := log.Do(testEntry(), func(*Entry) error { done = true; return nil }); err != nil || !done {
		t.Errorf("done %v, %v", done, err)
	}
	refusal := &process.Refusal{Reason: "no"}
	if err := log.Refuse(testEntry(), refusal); !errors.Is(err, refusal) {
		t.Error(err)
	}
}

// TestHostileNamesForgeNoLine: whatever a process is called, each entry is one line of JSON that no
// terminal acts on.
func TestHostileNamesForgeNoLine(t *testing.T) {
	log := &Log{Directory: t.TempDir()}
	hostile := []string{
		"a\nb\r\n{\"outcome\":\"flushed\"}", "\x1b[2J\x07", "\u009b31m", "\u202egnp.exe\u2066", "\xff\xfe", "\u2028\u2029\u0085", "\U000e0041", `"},{"`,
	}
	for _, name := range hostile {
		e := testEntry()
		e.Runs(name, []string{name, name, name, name, "--token", "secret"})
		e.Interpreter, e.Level = name, name
		if err := log.Do(e, func(e *Entry) error { e.Outcome, e.Reason = "flushed", name; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	lines := readLines(t, log.Directory)
	if len(lines) != 2*len(hostile) {
		t.Fatalf("%d lines of %d actions", len(lines), len(hostile))
	}
	for i, line := range lines {
		e := readEntry(t, line)
		if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.Contains(line, "secret") {
			t.Errorf("%q", line)
		}
		if want := strings.ToValidUTF8(hostile[i/2], "?"); e.Command[0] != want {
			t.Errorf("%q comes back as %q", want, e.Command[0])
		}
	}
}

func TestLongCommandsAreCut(t *testing.T) {
	e := testEntry()
	e.Runs("carol", []string{strings.Repeat("é", 1000)})
	if len(e.Command[0]) > maxWord || !strings.HasPrefix(e.Command[0], "éé") {
		t.Errorf("%q", e.Command[0])
	}
}

func TestEntryAboutAProcessOnTwoGPUs(t *testing.T) {
	id := process.Identity{PID: 7, StartTime: 8}
	row := func(gpu int, uuid string) snapshot.Process {
		return snapshot.Process{ID: snapshot.RowID{Process: id, GPUUUID: uuid}, GPU: gpu, User: "carol", Command: []string{"python3", "train.py"}}
	}
	snap := &snapshot.Snapshot{Rows: []snapshot.Process{row(0, "GPU-0"), row(3, "GPU-3")}}
	e := NewEntry("signal", id, Key("x"))
	e.About(snap, id)
	if fmt.Sprint(e.GPUs, e.Command) != "[0 3] [python3 train.py]" || e.Target != "carol" || e.Why != "key x" {
		t.Errorf("%+v", e)
	}
	event := NewEvent(time.Time{}, snap, snapshot.EventSignal, id, "GPU-3")
	if event.GPU != 3 || event.Name != "train.py" || event.User != "carol" {
		t.Errorf("%+v", event)
	}
}

func TestMillisecondsAreOfTenths(t *testing.T) {
	for d, want := range map[time.Duration]float64{0: 0, 149 * time.Microsecond: 0.1, 150 * time.Microsecond: 0.2, 2345678 * time.Nanosecond: 2.3, time.Minute: 60000} {
		if got := Milliseconds(d).Or(-1); got != want {
			t.Errorf("%v: %v, want %v", d, got, want)
		}
	}
}

// TestLogIsRead: a log that does not exist has no lines, and lines of another version are left out.
func TestLogIsRead(t *testing.T) {
	log := &Log{Directory: filepath.Join(t.TempDir(), "state")}
	read := func() (outcomes []string, err error) {
		err = log.Read(func(e *Entry) { outcomes = append(outcomes, e.Outcome) })
		return outcomes, err
	}
	if got, err := read(); err != nil || got != nil {
		t.Errorf("without a log: %q, %v", got, err)
	}
	if err := log.Do(testEntry(), func(*Entry) error { return nil }); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(log.Path(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("[\"of another version\"]\n"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(file.Close(), log.Record(testEntry())); err != nil {
		t.Fatal(err)
	}
	if got, err := read(); err != nil || len(got) != 3 || got[0] != "begin" {
		t.Errorf("%q, %v", got, err)
	}
	log.Directory = log.Path() // a file is no directory, so the log cannot be read
	if _, err := read(); err == nil {
		t.Error("a log that cannot be read was read")
	}
}

package cli

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vramscope/cli/command"
	"vramscope/cli/sources"
	"vramscope/metric"
	"vramscope/recording"
	"vramscope/sampler"
	"vramscope/sampler/history"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
)

// recorded makes a recording of two and a half minutes of a simulated box, starting at noon, with
// the test's own events.
func recorded(t *testing.T, own ...func(*snapshot.Snapshot) []snapshot.Event) (directory string, noon time.Time, live *history.History) {
	t.Helper()
	directory = filepath.Join(t.TempDir(), "recordings")
	noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)
	now := noon
	clock := func() time.Time { return now }
	box := simulator.New(simulator.Options{Seed: 1, Clock: clock})
	s := sampler.New(sampler.Options{Devices: box, Probes: box, Processes: box, Clock: clock, Simulated: true, Deadline: time.Minute})
	w := recording.Start(directory, recording.Options{})
	events := 0
	for range 150 {
		snap := s.Tick(now)
		all := s.History().Events(0)
		var fresh []snapshot.Event
		for i := len(all) - events - 1; i >= 0; i-- {
			fresh = append(fresh, all[i])
		}
		events = len(all)
		for _, more := range own {
			fresh = append(fresh, more(snap)...)
		}
		for w.Append(snap, fresh) != nil { // the queue is full, because the snapshots come faster than in a real box
			time.Sleep(time.Millisecond)
		}
		now = now.Add(time.Second)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return directory, noon, s.History()
}

// ran runs a command line. It returns the output and the exit code.
func ran(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	dir := t.TempDir()
	file := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() }) // read below
		return f
	}
	p := &command.Program{Stdin: os.Stdin, Stdout: file("out"), Stderr: file("err"), Getenv: func(string) string { return "" }, Now: time.Now}
	code = run(p, args)
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	return read("out"), read("err"), code
}

func TestExportWritesEverySample(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	directory, noon, live := recorded(t)
	out, errs, code := ran(t, "export", directory, "--from", "12:01", "--to", "12:01:30")
	if code != command.ExitOK || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	ticks, commands, lines := make(map[string]bool), make(map[string]bool), 0
	for scan := bufio.NewScanner(strings.NewReader(out)); scan.Scan(); lines++ {
		var line struct {
			Time      time.Time
			UUID      string
			PID       *int
			Instance  *int `json:"gpu_instance"`
			Command   *string
			UsedBytes *int64 `json:"used_bytes"`
		}
		if err := json.Unmarshal(scan.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", scan.Text(), err)
		}
		ticks[line.Time.String()] = true
		if line.Command != nil {
			commands[*line.Command] = true
		}
		then, ok := live.At(line.Time)
		if !ok || line.PID != nil || line.Instance != nil {
			continue
		}
		if used, known := then.GPU(line.UUID).Memory.Used.Value(); known && (line.UsedBytes == nil || *line.UsedBytes != int64(used)) {
			t.Errorf("%s: used %v", scan.Text(), used)
		}
	}
	if len(ticks) != 30 || lines < 30*8 {
		t.Errorf("%d lines of %d ticks", lines, len(ticks))
	}
	if !commands["python3.11 pretrain.py"] { // its name is python3.11, like that of others
		t.Errorf("commands: %v", commands)
	}

	out, errs, code = ran(t, "export", directory, "--format", "csv", "--metric", "used_bytes,power_watts", "--to", "12:00:10")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if code != command.ExitOK || err != nil {
		t.Fatalf("exit code %d: %s %v", code, errs, err)
	}
	if got := strings.Join(rows[0], ","); got != "time,simulated,uuid,gpu_instance,compute_instance,pid,start_time,user,name,used_bytes,power_watts,command" {
		t.Error(got)
	}
	empty, errs, code := ran(t, "export", directory, "--format", "csv", "--metric", "used_bytes", "--from", "12:01:00.1", "--to", "12:01:00.2")
	if code != command.ExitOK || empty != "time,simulated,uuid,gpu_instance,compute_instance,pid,start_time,user,name,used_bytes,command\n" {
		t.Errorf("exit code %d: %s%q of a time without samples", code, errs, empty)
	}
	if got := rows[1][0]; got != noon.Format("2006-01-02T15:04:05.000Z07:00") || rows[1][1] != "true" {
		t.Error(rows[1])
	}
}

func TestExportToAFullDisk(t *testing.T) {
	directory, _, _ := recorded(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = full.Close() }() // nothing can be written
	for _, format := range []string{"csv", "jsonl"} {
		said, err := os.Create(filepath.Join(t.TempDir(), "err"))
		if err != nil {
			t.Fatal(err)
		}
		p := &command.Program{Stdout: full, Stderr: said, Getenv: func(string) string { return "" }, Now: time.Now}
		code := run(p, []string{"export", directory, "--format", format})
		_ = said.Close() // it is read next
		if message, err := os.ReadFile(said.Name()); code != command.ExitFailure || err != nil || !strings.Contains(string(message), "write standard output: write /dev/full: no space left") {
			t.Errorf("%s: exit code %d, %q %v", format, code, message, err)
		}
	}
}

func TestOnceOfTheRecordedPast(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	directory, noon, live := recorded(t)
	p := &command.Program{Getenv: os.Getenv}
	r, err := sources.OpenRecording(p, directory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	at, err := r.Moment("at", "12:01")
	if err != nil || !at.Equal(noon.Add(time.Minute)) {
		t.Fatalf("%v, %v", at, err)
	}
	table, errs, code := ran(t, "once", "--at", "12:01", directory)
	if code != command.ExitOK || !strings.Contains(table, "SIMULATED") {
		t.Errorf("exit code %d: %s%s", code, errs, table)
	}
	got, _ := r.At(at)
	want, _ := live.At(at)
	if len(got.Rows) == 0 || len(got.Rows) != len(want.Rows) || got.Rows[0].Used != want.Rows[0].Used {
		t.Errorf("%d rows, want %d", len(got.Rows), len(want.Rows))
	}
}

func TestWrongTimesAndRecordings(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	directory, _, _ := recorded(t)
	foreign := filepath.Join(t.TempDir(), "notes.db")
	if err := os.WriteFile(foreign, []byte(strings.Repeat("no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"export", directory, "--from", "11:00"}, command.ExitFailure, []string{"--from 11:00: nothing is recorded of that time", "has 2026-11-20 12:00:00 to 2026-11-20 12:02:29"}},
		{[]string{"export", directory, "--from", "soon"}, command.ExitUsage, []string{`"soon" is no time: write 03:12`}},
		{[]string{"export", directory, "--from", "12:02", "--to", "12:01"}, command.ExitUsage, []string{"--from is not before --to"}},
		{[]string{"export", directory, "--metric", "bytes"}, command.ExitUsage, []string{`"bytes" is not recorded`, "\n  recorded: used_bytes, "}},
		{[]string{"export", t.TempDir()}, command.ExitFailure, []string{"there is no recording", "vramscope daemon --record"}},
		{[]string{"export", foreign}, command.ExitFailure, []string{"not a recording of vramscope"}},
		{[]string{"export", filepath.Join(directory, "none.db")}, command.ExitFailure, []string{"none.db: there is no such file or directory\n"}},
		{[]string{"export", directory, "another"}, command.ExitUsage, []string{"export takes one FILE or DIR, not 2"}},
		{[]string{"replay", directory, "another"}, command.ExitUsage, []string{"replay takes one FILE or DIR, not 2"}},
		{[]string{"report", directory, "another", "third"}, command.ExitUsage, []string{"report takes one FILE or DIR, not 3"}},
		{[]string{"once", directory}, command.ExitUsage, []string{"once takes FILE or DIR with --at alone"}},
		{[]string{"once", "--at", "11:00", directory}, command.ExitFailure, []string{"--at 11:00: nothing is recorded of that time"}},
		{[]string{"replay", directory, "--at", "03:12", "--event", "oom"}, command.ExitUsage, []string{"leave one out"}},
		{[]string{"replay", directory, "--event", "flood"}, command.ExitUsage, []string{`"flood" is not oom, alert`}},
		{[]string{"replay", directory, "--event", "alert"}, command.ExitUsage, []string{"replay needs a terminal"}},
		{[]string{"replay", directory}, command.ExitUsage, []string{"replay needs a terminal"}},
		{[]string{"once", "--at", "03:12", "--watch", "5s"}, command.ExitUsage, []string{"--watch or --at, not both"}},
	} {
		_, errs, code := ran(t, tc.args...)
		if code != tc.code {
			t.Errorf("%v: exit code %d, want %d: %s", tc.args, code, tc.code, errs)
		}
		if strings.Contains(errs, "no such file") && strings.Count(errs, "\n") > 1 {
			t.Errorf("%v: no daemon makes what is named there: %q", tc.args, errs)
		}
		for _, want := range tc.want {
			if !strings.Contains(errs, want) {
				t.Errorf("%v: %q does not say %q", tc.args, errs, want)
			}
		}
	}
}

func TestMetricsAreFoundByName(t *testing.T) {
	for id := range metric.Count {
		if got := metric.Named(metric.Table[id].Name); got != id {
			t.Errorf("%s is %v", metric.Table[id].Name, got)
		}
	}
	if got := metric.Named("none"); got != metric.Count {
		t.Errorf("none is %v", got)
	}
}

func TestBacktestReadsARecording(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	directory, _, live := recorded(t)
	out, errs, code := ran(t, "backtest", directory, "--format", "json")
	if code != command.ExitOK {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var document struct {
		Series []struct {
			ID      string `json:"series_id"`
			Samples int
		}
	}
	if err := json.Unmarshal([]byte(out), &document); err != nil {
		t.Fatal(err)
	}
	_, newest := live.Span()
	then, _ := live.At(newest)
	if len(document.Series) < len(then.Rows) {
		t.Errorf("%d series of %d processes", len(document.Series), len(then.Rows))
	}
	if _, errs, code = ran(t, "backtest", t.TempDir()); code != command.ExitFailure || !strings.Contains(errs, "there is no recording") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// If a command cannot read a part of a recording, it says so and reads the rest.
func TestDamagedDayIsNamed(t *testing.T) {
	directory, _, _ := recorded(t)
	if err := os.WriteFile(filepath.Join(directory, "2001-01-01.db"), []byte(strings.Repeat("no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errs, code := ran(t, "export", directory)
	if code != command.ExitOK || strings.Count(out, "\n") < 30*8 || strings.Count(errs, "2001-01-01.db: not a recording of vramscope") != 1 {
		t.Errorf("exit code %d, %d lines, %q", code, strings.Count(out, "\n"), errs)
	}
}

package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/cli/command"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/recording"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// demoRecording makes a recording of the demo's box, of the given length from noon, with a gap from
// minute 20 to 25.
func demoRecording(t *testing.T, length time.Duration) string {
	t.Helper()
	const step = 5 * time.Second
	begin := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	now := begin
	clock := func() time.Time { return now }
	box := simulator.New(simulator.Options{Clock: clock})
	sampling := sampler.New(sampler.Options{Devices: box, Probes: box, Processes: box, Clock: clock, Simulated: true, Deadline: time.Minute, Interval: step})
	directory := t.TempDir()
	w := recording.Start(directory, recording.Options{})
	for seen := 0; now.Before(begin.Add(length)); {
		now = now.Add(step)
		snap := sampling.Tick(now)
		all := sampling.History().Events(0) // newest first
		var fresh []snapshot.Event
		for i := len(all) - seen - 1; i >= 0; i-- {
			fresh = append(fresh, all[i])
		}
		seen = len(all)
		if since := now.Sub(begin); since > 20*time.Minute && since <= 25*time.Minute {
			continue
		}
		counted := *snap // the first process counts two steps a second
		counted.Rows = slices.Clone(snap.Rows)
		counted.Rows[0].Steps = quantity.From(int64(2*now.Sub(begin)/time.Second), quantity.Probe)
		for w.Append(&counted, fresh) != nil {
			time.Sleep(time.Millisecond) // its queue is full
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return directory
}

func TestReport(t *testing.T) {
	t.Parallel()
	where := demoRecording(t, time.Hour)
	for name, test := range map[string]func(*testing.T, string){
		"in each format": reportInEachFormat, "of the demo": reportOfTheDemo, "in eighty columns": reportInEightyColumns,
		"compares": reportCompares, "says what is damaged": reportSaysWhatIsDamaged, "refuses with advice": reportRefusesWithAdvice,
	} {
		t.Run(name, func(t *testing.T) { test(t, where) })
	}
}

func init() { time.Local = time.UTC } // the expected times are in UTC

// reported runs the command.
func reported(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var files [2]*os.File
	for i := range files {
		file, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }() // it has been read
		files[i] = file
	}
	getenv := func(name string) string {
		return map[string]string{"LC_ALL": "C.UTF-8"}[name]
	}
	p := &command.Program{Stdout: files[0], Stderr: files[1], Getenv: getenv, Recordings: "/nonexistent", Now: func() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) }}
	code = run(p, append([]string{"report"}, args...))
	var out [2]string
	for i, file := range files {
		content, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		out[i] = string(content)
	}
	return out[0], out[1], code
}

func reportInEachFormat(t *testing.T, where string) {
	for format, wants := range map[string][]string{
		"text":     {"SIMULATED", "recorded 54 min", "MEMORY  time-weighted", "GPU  USED  ALLOC", "finetune.py", "OUT OF MEMORY", "FORECASTER", "FLUSHES", "THROUGHPUT", "2.00  Xorg"},
		"markdown": {"# GPU memory of h100-03 (SIMULATED)", "ecorded 54 min", "| GPU | Used |", "| --: | --: |", "finetune.py"},
		"json":     {`"schema": "vramscope/report/1"`, `"simulated": true`, `"recorded_seconds": 3295`},
		"html":     {"<!doctype html>", ">SIMULATED<", "recorded 54 min", `<svg xmlns=`, `class="part allocated`, `class="mark oom`, "finetune.py"},
	} {
		out, problem, code := reported(t, where, "--format", format)
		if code != 0 || problem != "" {
			t.Fatalf("%s: exit code %d: %s", format, code, problem)
		}
		for _, want := range wants {
			if !strings.Contains(out, want) {
				t.Errorf("%s lacks %q:\n%.3000s", format, want, out)
			}
		}
		if format == "json" {
			conforms(t, "report", "the report", []byte(out))
		}
	}
}

// Sums are of whole minutes, but the first and the last minute are recorded only in part.
func TestReportIsOfTheTimeOfTheSamples(t *testing.T) {
	t.Parallel()
	where := demoRecording(t, 100*time.Second)
	out, problem, code := reported(t, where)
	if code != 0 || !strings.Contains(out, "2026-11-20 12:00:05 to 2026-11-20 12:01:40 UTC\nrecorded 1 min 35 s of 1 min 35 s\n") {
		t.Errorf("exit code %d: %s%.500s", code, problem, out)
	}
	out, problem, code = reported(t, where, "--format", "json", "--since", "1m")
	if code != 0 || !strings.Contains(out, `"to": "2026-11-20T12:01:40.000Z"`) || !strings.Contains(out, `"from": "2026-11-20T12:01:00.000Z"`) || !strings.Contains(out, `"recorded_seconds": 40`) {
		t.Errorf("exit code %d: %s%.500s", code, problem, out)
	}
}

// The sums of processes cover five minutes. The report counts the part of a sum that lies in the period.
func TestReportTakesItsShareOfFiveMinutes(t *testing.T) {
	where := demoRecording(t, 100*time.Second)
	for _, period := range [][]string{
		{"--since", "1m"}, {"--from", "2026-11-20 12:00", "--to", "2026-11-20 12:01"}, {"--since", "24h"},
	} {
		out, problem, code := reported(t, append(period, where, "--format", "json")...)
		var document schema.Report
		if err := json.Unmarshal([]byte(out), &document); err != nil || code != 0 {
			t.Fatalf("%v: exit code %d: %v %s", period, code, err, problem)
		}
		vllm := slices.IndexFunc(document.Groups, func(g schema.ReportGroup) bool { return strings.HasPrefix(g.Name, "vllm") })
		if vllm < 0 {
			t.Errorf("%v: no vllm in %+v", period, document.Groups)
			continue
		}
		of, all := document.Groups[vllm].UsedGiBHours.Or(0), document.GPUs[2].Memory.Used.GiBHours
		if math.Abs(of-all) > 0.12*all { // a sample counts for five seconds
			t.Errorf("%v: %.3f GiB·h of vllm, and %.3f of its GPU", period, of, all)
		}
	}
}

// A day that cannot be read is named; the other days are evaluated.
func reportSaysWhatIsDamaged(t *testing.T, where string) {
	directory := t.TempDir()
	if err := os.CopyFS(directory, os.DirFS(where)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(directory, "2026-11-19.db"), bytes.Repeat([]byte("no database "), 500), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"export", directory}, {"once", "--at", "2026-11-20 12:30", directory}, {"why", "--file", directory, "2963112"}} {
		if _, problem, code := ran(t, args...); code != 0 || strings.Count(problem, "2026-11-19.db: not a recording of vramscope") != 1 {
			t.Errorf("%v: exit code %d, %q", args, code, problem)
		}
	}
	out, problem, code := reported(t, directory, "--since", "30d")
	if code != 0 || !strings.Contains(out, "recorded 54 min") || strings.Count(problem, "2026-11-19.db: not a recording of vramscope") != 1 {
		t.Errorf("exit code %d, %q:\n%.500s", code, problem, out)
	}
}

// The report shows the leak that fills GPU 3, after an alert.
func reportOfTheDemo(t *testing.T, where string) {
	out, _, _ := reported(t, where, "--format", "json")
	var r schema.Report
	if err := json.Unmarshal(undated([]byte(out)), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.GPUs) != 8 || r.GPUs[3].Failures.OutOfMemory.Or(0) == 0 || r.GPUs[0].Failures.OutOfMemory.Or(-1) != 0 {
		t.Fatalf("%d GPUs; %+v", len(r.GPUs), r.GPUs)
	}
	if f := r.Forecaster; f.Hits == 0 || !f.MedianLead.Known() || f.Fills.Or(0) == 0 || f.Hits+f.False+f.ActedOn+f.Undecided != f.Alerts {
		t.Errorf("%+v", f)
	}
	for i := range r.GPUs {
		g := &r.GPUs[i]
		m := &g.Memory
		if m.Used == nil || m.Free == nil {
			t.Errorf("GPU %d: %+v", g.GPU, m)
			continue
		}
		if sum := m.Used.Percent.Or(0) + m.Free.Percent.Or(0); sum < 99 || sum > 101 {
			t.Errorf("GPU %d: used and free are %.1f %%", g.GPU, sum)
		}
		if len(g.Timeline) < 50 || len(g.Timeline) > 56 {
			t.Errorf("GPU %d has %d points", g.GPU, len(g.Timeline))
		}
	}
}

// undated removes times and sizes, whose types can be encoded but not decoded.
func undated(document []byte) []byte {
	var any map[string]any
	if json.Unmarshal(document, &any) != nil {
		return nil
	}
	strip(any)
	out, err := json.Marshal(any)
	if err != nil {
		return nil
	}
	return out
}

func strip(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if strings.HasSuffix(key, "time") || key == "from" || key == "to" || strings.HasSuffix(key, "_bytes") {
				delete(v, key)
				continue
			}
			strip(inner)
		}
	case []any:
		for _, inner := range v {
			strip(inner)
		}
	}
}

func reportInEightyColumns(t *testing.T, where string) {
	for _, by := range []string{"gpu", "user", "job", "command"} {
		out, problem, code := reported(t, where, "--by", by, "--ascii")
		if code != 0 {
			t.Fatal(problem)
		}
		for line := range strings.Lines(out) {
			titles := strings.HasPrefix(line, "MEMORY OVER") || strings.Contains(line, "first 10")
			if w := text.Width(strings.TrimRight(line, "\n")); w > 80 && !titles {
				t.Errorf("by %s: %d cells: %s", by, w, line)
			}
			for _, r := range line {
				if r > 0x7e {
					t.Errorf("not ASCII: %q", line)
					break
				}
			}
		}
	}
}

func reportCompares(t *testing.T, where string) {
	out, problem, code := reported(t, "--compare", "12:00..12:20", "12:25..13:00", where)
	if code != 0 {
		t.Fatal(problem)
	}
	if swapped, problem, code := reported(t, where, "--compare", "12:00..12:20", "12:25..13:00"); code != 0 || swapped != out {
		t.Errorf("exit code %d with the folder first: %s", code, problem)
	}
	for _, want := range []string{"COMPARED  with 2026-11-20 12:00 to 2026-11-20 12:20 UTC, recorded 19 min 50 s", "FIGURE", "utilization", "too few hours to tell"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func reportRefusesWithAdvice(t *testing.T, where string) {
	foreign := filepath.Join(t.TempDir(), "notes.db")
	if err := os.WriteFile(foreign, bytes.Repeat([]byte("not a database "), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	for name, c := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"no recording":      {nil, command.ExitFailure, []string{"vramscope daemon --record"}},
		"not there":         {[]string{"/nonexistent/dir"}, command.ExitFailure, []string{"/nonexistent/dir"}},
		"an empty folder":   {[]string{empty}, command.ExitFailure, []string{"vramscope daemon --record"}},
		"a foreign file":    {[]string{foreign}, command.ExitFailure, []string{"not a recording of vramscope", "docs/recording.md"}},
		"outside":           {[]string{where, "--from", "2026-11-18", "--to", "2026-11-19"}, command.ExitFailure, []string{"nothing is recorded from 2026-11-18 00:00:00", "2026-11-20 12:00:05 to"}},
		"a gap":             {[]string{where, "--from", "12:21", "--to", "12:24"}, command.ExitFailure, []string{"nothing is recorded from 2026-11-20 12:21:00", "--since 30d"}},
		"backwards":         {[]string{where, "--from", "2026-11-20 12:30", "--to", "2026-11-20 12:10"}, command.ExitUsage, []string{"shorter than a minute"}},
		"no time":           {[]string{where, "--from", "teatime"}, command.ExitUsage, []string{`"teatime" is no time`, "03:12"}},
		"no length":         {[]string{where, "--since", "long"}, command.ExitUsage, []string{`--since: "long"`, "7d"}},
		"two beginnings":    {[]string{where, "--since", "1h", "--from", "12:00"}, command.ExitUsage, []string{"leave one out"}},
		"one period":        {[]string{"--compare", "12:00..12:10", where}, command.ExitUsage, []string{"--compare takes two periods", "03:00..06:00"}},
		"no period":         {[]string{"--compare", "12:00", "12:00..12:10", where}, command.ExitUsage, []string{"FROM..TO"}},
		"compare and since": {[]string{"--compare", "12:00..12:10", "12:10..12:20", "--since", "1h", where}, command.ExitUsage, []string{"leave out --since"}},
		"two folders":       {[]string{where, where}, command.ExitUsage, []string{"one FILE or DIR"}},
		"a GPU":             {[]string{where, "--gpu", "0"}, command.ExitUsage, []string{"--gpu does not apply"}},
	} {
		out, problem, code := reported(t, c.args...)
		if code != c.code || out != "" {
			t.Errorf("%s: exit code %d, want %d: %s%s", name, code, c.code, problem, out)
		}
		for _, want := range c.want {
			if !strings.Contains(problem, want) {
				t.Errorf("%s: no %q in %q", name, want, problem)
			}
		}
	}
}

// A recording lacks the sums of a minute that has just begun: the report computes them.
func TestReportOfTheFirstMinute(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	w := recording.Start(directory, recording.Options{})
	t.Cleanup(func() { _ = w.Close() }) // the report has read the recording
	tick := ticking(t, time.Date(2026, 11, 20, 12, 0, 10, 0, time.UTC))
	tick(w, 1)
	if _, problem, code := reported(t, directory); code != command.ExitFailure || !strings.Contains(problem, "has one sample so far") {
		t.Errorf("exit code %d: %s", code, problem)
	}
	tick(w, 3)
	if out, problem, code := reported(t, directory); code != 0 || !strings.Contains(out, "recorded 3 s of 3 s\n") || !strings.Contains(out, "train.py") {
		t.Errorf("exit code %d: %s%s", code, problem, out)
	}
}

// A recorder that is killed leaves no sums of the last minute of GPUs, nor of the last five minutes of
// processes. The report is the same as after a recorder that ended.
func TestReportAfterAKill(t *testing.T) {
	t.Parallel()
	ended, killed := t.TempDir(), t.TempDir()
	w := recording.Start(ended, recording.Options{})
	// The ticks include an alloc retry at 12:04:59, which samples do not have, and end before GPU 6 is
	// lost at 12:05:20.
	ticking(t, time.Date(2026, 11, 20, 12, 4, 50, 0, time.UTC))(w, 29)
	if err := os.CopyFS(killed, os.DirFS(ended)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	want, problem, code := reported(t, ended)
	if code != 0 || !strings.Contains(want, "recorded 28 s of 28 s\n") {
		t.Fatalf("exit code %d: %s%s", code, problem, want)
	}
	if got, problem, code := reported(t, killed); code != 0 || got != want {
		t.Errorf("exit code %d: %s\n%s\nwant\n%s", code, problem, got, want)
	}
}

// A recorder is killed in the middle of a recording, and started again minutes later: the report
// has the time up to the kill.
func TestReportAfterAKillAndARestart(t *testing.T) {
	t.Parallel()
	before, killed := t.TempDir(), t.TempDir()
	w := recording.Start(before, recording.Options{})
	ticking(t, time.Date(2026, 11, 20, 12, 1, 30, 0, time.UTC))(w, 120)
	if err := os.CopyFS(killed, os.DirFS(before)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = recording.Start(killed, recording.Options{})
	ticking(t, time.Date(2026, 11, 20, 12, 10, 0, 0, time.UTC))(w, 90)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out, problem, code := reported(t, killed)
	if code != 0 || !strings.Contains(out, "recorded 3 min 28 s of 9 min 59 s\n") || !strings.Contains(out, "  4.04  finetune.py\n") {
		t.Errorf("exit code %d: %s\n%s", code, problem, out)
	}
}

// A recorder is started again, after an update for example, and killed within the same minute.
func TestReportAfterARestartAndAKill(t *testing.T) {
	t.Parallel()
	ended, killed := t.TempDir(), t.TempDir()
	w := recording.Start(ended, recording.Options{})
	tick := ticking(t, time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	tick(w, 10)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = recording.Start(ended, recording.Options{})
	tick(w, 35)
	if err := os.CopyFS(killed, os.DirFS(ended)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, directory := range []string{ended, killed} {
		if got, problem, code := reported(t, directory); code != 0 || !strings.Contains(got, "recorded 44 s of 44 s\n") || !strings.Contains(got, "train.py") {
			t.Errorf("exit code %d: %s\n%s", code, problem, got)
		}
	}
}

// ticking returns a function that appends ticks of the demo's box, starting a second after now, and
// waits until they are on disk.
func ticking(t *testing.T, now time.Time) func(w *recording.Writer, ticks int) {
	clock := func() time.Time { return now }
	box := simulator.New(simulator.Options{Clock: clock})
	sampling := sampler.New(sampler.Options{Devices: box, Probes: box, Processes: box, Clock: clock, Simulated: true, Deadline: time.Minute, Interval: time.Second})
	return func(w *recording.Writer, ticks int) {
		t.Helper()
		want := w.State().Ticks + int64(ticks)
		for range ticks {
			now = now.Add(time.Second)
			for snap := sampling.Tick(now); w.Append(snap, nil) != nil; {
				time.Sleep(time.Millisecond) // its queue is full
			}
		}
		if !eventually(func() bool { return w.State().Ticks == want }) {
			t.Fatal("nothing is committed")
		}
	}
}

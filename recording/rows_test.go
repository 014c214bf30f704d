package recording

import (
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// The sums of a minute and of five minutes equal those of the ticks in them.
func TestSumsAreThoseOfTheTicks(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	var moments []*snapshot.Snapshot
	for range 3 {
		moments = append(moments, q.record(250)...)
		if err := q.w.end(); err != nil { // in the middle of a minute
			t.Fatal(err)
		}
		q.w = newQuiet(t, q.w.directory, Options{}).w
	}
	r := q.end()
	from, to := moments[0].Time.Truncate(time.Hour), q.now.Add(time.Hour)
	minutes, fives := all(t, from, to, r.GPUMinutes), all(t, from, to, r.Process5Min)
	if len(minutes) != 2*13 || len(fives) == 0 {
		t.Fatalf("%d minutes, %d times five", len(minutes), len(fives))
	}
	for _, m := range minutes {
		sumsEqual(t, moments, m.Time, time.Minute, m.Covered, m.Used, func(s *snapshot.Snapshot) (snapshot.Bytes, bool) {
			return s.GPU(m.GPUUUID).Memory.Used, true
		})
		if m.Utilization.Max.Or(0) < 50 || m.Utilization.Mean.Or(0) > 60 {
			t.Errorf("%+v", m)
		}
	}
	for _, f := range fives {
		allocated := allocatedSum(t, r, f.Time, f.Row.Process.PID)
		if f.Allocated != allocated.Mean {
			t.Errorf("mean allocated memory is %v, want %v", f.Allocated, allocated.Mean)
		}
		sumsEqual(t, moments, f.Time, 5*time.Minute, f.Covered, allocated, func(s *snapshot.Snapshot) (snapshot.Bytes, bool) {
			p := s.Row(f.Row)
			if p == nil {
				return snapshot.Bytes{}, false
			}
			return p.Allocated, true
		})
	}
}

// allocatedSum reads the sums of allocated memory, of which Process5Min has only the mean.
func allocatedSum(t *testing.T, r *Recording, at time.Time, pid int) (s Sum) {
	t.Helper()
	d, err := r.day(r.all()[0])
	if err != nil {
		t.Fatal(err)
	}
	if !d.row([]any{computed(&s.Min), computed(&s.Mean), computed(&s.Max)}, `SELECT allocated_min_bytes, allocated_mean_bytes, allocated_max_bytes
		FROM process_5min JOIN processes USING (process) WHERE time_ns = ? AND pid = ?`, at.UnixNano(), pid) {
		t.Fatalf("no five minutes of %d at %v", pid, at)
	}
	return s
}

// all returns the rows that are visited.
func all[T any](t *testing.T, from, to time.Time, each func(from, to time.Time, visit func(*T)) error) (rows []T) {
	t.Helper()
	if err := each(from, to, func(row *T) { rows = append(rows, *row) }); err != nil {
		t.Fatal(err)
	}
	return rows
}

// sumsEqual compares got with the sums over moments.
func sumsEqual(t *testing.T, moments []*snapshot.Snapshot, at time.Time, width, covered time.Duration, got Sum, value func(*snapshot.Snapshot) (snapshot.Bytes, bool)) {
	t.Helper()
	var low, high, area float64
	n := 0.0
	for i, s := range moments {
		v, there := value(s)
		if s.Time.Before(at) || !s.Time.Before(at.Add(width)) || !there || i%250 == 0 {
			continue // nothing is known about the time before a session's first tick
		}
		b := float64(v.Or(0))
		if n == 0 {
			low, high = b, b
		}
		low, high = min(low, b), max(high, b)
		area += b
		n++
	}
	mean := float64(got.Mean.Or(-1))
	if float64(got.Min.Or(-1)) != low || float64(got.Max.Or(-1)) != high || math.Abs(mean-area/n) > 0.01*(high+1) {
		t.Errorf("%v: %+v, want %v, %v, %v", at, got, low, area/n, high)
	}
	if math.Abs(covered.Seconds()-n) > 1.5 {
		t.Errorf("%v: %v are covered, want %v s", at, covered, n)
	}
}

func TestPlainRows(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	first := q.record(10)
	snap := q.next()
	row := snap.Rows[0]
	key := row.ID
	gpu := &snap.GPUs[0]
	alert := snapshot.Alert{
		Kind: snapshot.AlertFullIn, Severity: snapshot.Urgent, GPUUUID: gpu.UUID, Row: key, Since: snap.Time,
		Note: "full in 40s", Message: "GPU 0 is full in 40s", Advice: "F on 1001 frees 3G",
	}
	gpu.FullIn = &snapshot.FullIn{Median: 40 * time.Second, Earliest: 30 * time.Second}
	gpu.Predicted = []snapshot.Prediction{{Horizon: time.Minute, Median: 70, Lower80: 60, Upper80: 80, Lower95: 50, Upper95: 90}}
	snap.Alerts = []snapshot.Alert{alert}
	q.w.write(tick{snap, []snapshot.Event{
		{Time: snap.Time, Kind: snapshot.EventOutOfMemory, GPUUUID: gpu.UUID, Row: key, User: "alice", Message: "out of memory\x1b[31m x1"},
		{Time: snap.Time, Kind: snapshot.EventFlush, GPUUUID: gpu.UUID, Row: key, Message: "freed 3G", Bytes: quantity.From(3*quantity.GiB, quantity.Driver), Decision: &snapshot.GuardDecision{
			Time: snap.Time, Kind: snapshot.GuardFlushed, Rule: "room", GPUUUID: gpu.UUID, Row: key, Level: "gradual", User: "alice",
			Expected: quantity.From(4*quantity.GiB, quantity.Probe), Measured: quantity.From(3*quantity.GiB, quantity.Driver), Reason: "5G free\x1b",
		}},
	}})
	q.snap.Alerts, q.snap.GPUs[0].FullIn, q.snap.GPUs[0].Predicted = nil, nil, nil
	gone := q.snap.Rows[5]
	q.snap.Rows = q.snap.Rows[:5]
	q.snap.Ended = []snapshot.EndedProcess{{Last: gone, Ended: q.now.Add(time.Second), ExitStatus: quantity.From(137, quantity.System)}}
	q.record(10)
	r := q.end()
	from, to := first[0].Time, q.now.Add(time.Second)

	events, err := r.EventsBetween(from, to)
	of := func(kind snapshot.EventKind) []snapshot.Event {
		return slices.DeleteFunc(slices.Clone(events), func(e snapshot.Event) bool { return e.Kind != kind })
	}
	ooms := of(snapshot.EventOutOfMemory)
	if err != nil || len(ooms) != 1 || ooms[0].Row != key || ooms[0].GPUUUID != gpu.UUID || ooms[0].Message != "out of memory?[31m x1" || !ooms[0].Time.Equal(snap.Time) {
		t.Errorf("%+v, %v", ooms, err)
	}
	actions := of(snapshot.EventFlush)
	if len(actions) != 1 || actions[0].Row != key || actions[0].Bytes.Or(0) != 3*quantity.GiB {
		t.Errorf("%+v, %v", actions, err)
	}
	decisions, err := r.Decisions(from, to)
	if err != nil || len(decisions) != 1 || decisions[0].Row != key || decisions[0].GPUUUID != gpu.UUID || decisions[0].GPU != gpu.Index || decisions[0].Kind != snapshot.GuardFlushed || decisions[0].Rule != "room" ||
		decisions[0].Expected.Or(0) != 4*quantity.GiB || decisions[0].Measured.Or(0) != 3*quantity.GiB || decisions[0].Free.Known() || decisions[0].Reason != "5G free?" {
		t.Errorf("%+v, %v", decisions, err)
	}
	alerts, err := r.Alerts(from, to)
	if err != nil || len(alerts) != 1 || alerts[0].Kind != alert.Kind || alerts[0].Row != key || alerts[0].Message != alert.Message ||
		!alerts[0].Since.Equal(snap.Time) || alerts[0].Median.Or(0) != 40*time.Second || alerts[0].Earliest.Or(0) != 30*time.Second || alerts[0].Latest.Known() || alerts[0].Instance != (snapshot.InstanceID{}) {
		t.Errorf("%+v, %v", alerts, err)
	}
	// Users read these columns with SQL.
	for query, want := range map[string]string{
		"SELECT used_bytes, gpu_total_bytes, requested_bytes, detail FROM ooms":                                                      fmt.Sprintf("%d %d  ", int64(row.Used.Or(0)), 80*quantity.GiB),
		"SELECT severity, advice, note, to_ns > from_ns FROM alerts":                                                                 "1 F on 1001 frees 3G full in 40s 1",
		"SELECT horizon_ns, median_bytes, upper_95_bytes, full_median_ns, full_latest_ns, uuid FROM forecasts JOIN gpus USING (gpu)": "60000000000 70 90 40000000000  " + gpu.UUID,
		"SELECT pid, exit_status FROM processes WHERE exit_status IS NOT NULL":                                                       fmt.Sprint(gone.ID.Process.PID, 137),
	} {
		if got := queryRow(t, r, query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	processes, err := r.Processes(from, to)
	if err != nil || len(processes) != 6 {
		t.Fatalf("%d processes, %v", len(processes), err)
	}
	for _, p := range processes {
		ended := p.ID == gone.ID
		if p.User != "alice" || p.Name != "python3" || !p.First.Equal(first[0].Time) || p.Ended.IsZero() == ended || !p.Peak.Known() {
			t.Errorf("%+v", p)
		}
	}
	if none, err := r.Processes(to.Add(time.Hour), to.Add(2*time.Hour)); err != nil || len(none) != 0 {
		t.Errorf("later: %+v, %v", none, err)
	}
	// The moment of the alert has the alert, and the moment of the end has the process among the
	// ended ones.
	then, _ := r.At(snap.Time)
	if len(then.Alerts) != 1 || then.Alerts[0].Message != alert.Message || then.Alerts[0].Row != key {
		t.Errorf("alerts then: %+v", then.Alerts)
	}
	then, _ = r.At(q.now)
	if len(then.Alerts) != 0 || len(then.Rows) != 5 || len(then.Ended) != 1 || then.Ended[0].Last.ID != gone.ID || then.Ended[0].Last.GPU != gone.GPU || gone.GPU == 0 || then.Ended[0].ExitStatus.Or(0) != 137 {
		t.Errorf("at the end: %+v", then)
	}
}

// An event keeps its GPU, even if the box has lost it; an event without a GPU adds none.
func TestEventOfAGoneGPU(t *testing.T) {
	for _, uuid := range []string{"GPU-gone", ""} {
		q := newQuiet(t, t.TempDir(), Options{})
		snap := q.next()
		q.w.write(tick{snap, []snapshot.Event{{Time: snap.Time, Kind: snapshot.EventFailed, GPUUUID: uuid}}})
		r := q.end()
		if events, err := r.EventsBetween(snap.Time, q.now.Add(1)); err != nil || len(events) != 1 || events[0].GPUUUID != uuid {
			t.Errorf("%q: %+v, %v", uuid, events, err)
		}
		if n := queryRow(t, r, "SELECT count(*) FROM gpus WHERE uuid = ''"); n != "0" {
			t.Errorf("%q: %s GPUs have no UUID", uuid, n)
		}
	}
}

// TestAlertKeepsTheFirstProcess: an alert is of the first process that it names and that is recorded.
func TestAlertKeepsTheFirstProcess(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	first := q.record(1)[0]
	alert := snapshot.Alert{Kind: snapshot.AlertFullIn, GPUUUID: first.GPUs[0].UUID}
	unrecorded := first.Rows[1].ID
	unrecorded.Process.PID += 1000
	for _, named := range []snapshot.RowID{{}, {}, unrecorded, first.Rows[1].ID, first.Rows[0].ID} {
		alert.Row = named
		q.snap.Alerts = []snapshot.Alert{alert}
		q.record(1)
	}
	if alerts, err := q.end().Alerts(first.Time, q.now); err != nil || len(alerts) != 1 || alerts[0].Row != first.Rows[1].ID {
		t.Errorf("%+v, %v", alerts, err)
	}
}

// queryRow returns the first row of a query, as text.
func queryRow(t *testing.T, r *Recording, query string) string {
	t.Helper()
	d, err := r.day(r.all()[0])
	if err != nil {
		t.Fatal(err)
	}
	columns := make([]sql.NullString, strings.Count(query[:strings.Index(query, "FROM")], ",")+1)
	var pointers []any
	for i := range columns {
		pointers = append(pointers, &columns[i])
	}
	if !d.row(pointers, query) {
		t.Fatalf("%s: no row", query)
	}
	var words []string
	for _, c := range columns {
		words = append(words, c.String)
	}
	return strings.Join(words, " ")
}

// Arguments of command lines are recorded only with FullCommands.
func TestCommandLines(t *testing.T) {
	for commands, want := range map[bool]string{false: "python3 train.py", true: "python3 /home/alice/train.py --token hunter2"} {
		q := newQuiet(t, t.TempDir(), Options{FullCommands: commands})
		q.snap.Rows[0].Command = []string{"python3", "/home/alice/train.py", "--token", "hunter2"}
		q.snap.Rows[1].Command = []string{"\x1b]0;gotcha\x07", "--token", "hunter2"}
		q.record(3)
		then, _ := q.end().At(q.now)
		if got := processCommand(then, q.snap.Rows[0].ID); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := processCommand(then, q.snap.Rows[1].ID); !commands && got != "?]0;gotcha?" {
			t.Errorf("%q", got)
		}
	}
}

func processCommand(s *snapshot.Snapshot, id snapshot.RowID) (words string) {
	for i, word := range s.Row(id).Command {
		if i > 0 {
			words += " "
		}
		words += word
	}
	return words
}

func TestProgram(t *testing.T) {
	for want, command := range map[string][]string{
		"python3 train.py":             {"/usr/bin/python3", "-u", "/home/a/train.py", "--token", "x"},
		"python3 -m torch.distributed": {"python3", "-m", "torch.distributed", "--secret", "x"},
		"python3":                      {"python3", "-c", "print('secret')"},
		"VLLM::Worker":                 {"VLLM::Worker secret=x"},
		"a.out":                        {"./a.out", "secret"},
		"":                             nil,
	} {
		if got := process.Program(command); got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

// A moment also has the runtime, the allocators and the probe of each row.
func TestRowsOfAMomentAreDescribed(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	p := &q.snap.Rows[0]
	p.Probe = &snapshot.Probe{State: snapshot.ProbeStale, Age: 7 * time.Second, StartedBy: "run", Capabilities: []string{"flush"}}
	p.Allocators = []snapshot.Allocator{{Kind: "pytorch", Basis: "stranded", ReturnableBound: snapshot.Least}}
	p.RuntimeVersion, p.Job = "2.9\x00", process.Job{Kind: "slurm", ID: "88123"}
	first := q.record(3)[0]
	r := q.end()
	for _, at := range []time.Time{first.Time, q.now} {
		age := 7*time.Second + at.Sub(first.Time)
		then, _ := r.At(at)
		got := then.Row(p.ID)
		if got.Probe == nil || got.Probe.State != snapshot.ProbeStale || got.Probe.Age != age || got.Probe.StartedBy != "run" || len(got.Probe.Capabilities) != 1 ||
			len(got.Allocators) != 1 || got.Allocators[0].ReturnableBound != snapshot.Least || got.RuntimeVersion != "2.9?" || got.Job != p.Job || got.UID != p.UID {
			t.Errorf("after %v: %+v, %+v", age, got, got.Probe)
		}
	}
}

// At and Processes return the job of a process.
func TestJobIsKept(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	job := process.Job{Kind: "slurm", ID: "88123", Step: "0", Namespace: "team-a", Container: "pytorch.sif"}
	q.snap.Rows[0].Job = job
	moments := q.record(2)
	r := q.end()
	then, ok := r.At(moments[1].Time)
	if row := then.Row(moments[0].Rows[0].ID); !ok || row == nil || row.Job != job {
		t.Errorf("the moment has %+v", row)
	}
	rows, err := r.Processes(moments[0].Time, q.now.Add(time.Second))
	if err != nil || !slices.ContainsFunc(rows, func(p ProcessRow) bool { return p.ID == moments[0].Rows[0].ID && p.Job == job }) {
		t.Errorf("the rows have %+v, %v", rows, err)
	}
}

// A moment has the job that holds a GPU, at the GPU and not as a row.
func TestAllocationIsKept(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	want := snapshot.JobAllocation{Job: process.Job{Kind: "slurm", ID: "88123"}, User: "bob", Since: time.Unix(1000, 0)}
	q.snap.GPUs[1].Allocation = &want
	moments := q.record(2)
	check := func(s *snapshot.Snapshot) {
		a := s.GPU(q.snap.GPUs[1].UUID).Allocation
		if len(s.Rows) != len(moments[0].Rows) || s.GPUs[0].Allocation != nil || a == nil || a.Job != want.Job || a.User != want.User || !a.Since.Equal(want.Since) {
			t.Errorf("at %v: %d rows, %+v", s.Time, len(s.Rows), a)
		}
	}
	r := q.end()
	then, ok := r.At(moments[1].Time)
	if !ok {
		t.Fatal("there is no moment")
	}
	check(then)
	if err := r.Moments(moments[0].Time, q.now, check); err != nil {
		t.Error(err)
	}
}

// On the second day the process's probe has not answered yet.
func TestCountsOfTheDayBeforeAreKept(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	p := q.snap.Rows[0]
	p.Probe.OutOfMemoryCount, p.Probe.AllocRetries = quantity.From(int64(3), quantity.Probe), quantity.From(int64(7), quantity.Probe)
	first := q.record(10)
	q.now = q.now.Add(24 * time.Hour)
	q.snap.Rows = slices.Clone(q.snap.Rows)
	q.snap.Rows[0].Probe = nil
	q.record(10)
	processes, err := q.end().Processes(first[0].Time, q.now.Add(time.Second))
	i := slices.IndexFunc(processes, func(r ProcessRow) bool { return r.ID == p.ID })
	if err != nil || i < 0 {
		t.Fatalf("%d processes, without it: %v", len(processes), err)
	}
	if r := &processes[i]; r.OutOfMemoryCount.Or(-1) != 3 || r.AllocRetries.Or(-1) != 7 {
		t.Errorf("%v out of memory, %v retries, want 3 and 7", r.OutOfMemoryCount, r.AllocRetries)
	}
}

// A process that begins and ends between two chunks is recorded at its last tick, with its counts and
// its last known used memory, although it has no figures while it exits.
func TestShortProcess(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	q.snap.Rows[5].Probe.OutOfMemoryCount, q.snap.Rows[5].Probe.AllocRetries = quantity.From(int64(3), quantity.Probe), quantity.From(int64(7), quantity.Probe)
	lived := q.record(10)
	gone := q.snap.Rows[5].ID
	used := lived[9].Row(gone).Used
	exiting := q.next()
	exiting.Rows[5].Used, exiting.Rows[5].Probe = snapshot.Bytes{}, nil
	q.w.write(tick{exiting, nil})
	last := exiting.Time
	q.snap.Rows = q.snap.Rows[:5]
	q.record(10)
	processes, err := q.end().Processes(last, last.Add(time.Second))
	i := slices.IndexFunc(processes, func(p ProcessRow) bool { return p.ID == gone })
	if err != nil || i < 0 {
		t.Fatalf("%d processes at its last tick, without it: %v", len(processes), err)
	}
	if p := &processes[i]; !p.Last.Equal(last) || !used.Known() || p.Used.Or(0) != used.Or(0) {
		t.Errorf("it was last there at %v and used %v, want %v and %v", p.Last, p.Used, last, used)
	} else if p.OutOfMemoryCount.Or(-1) != 3 || p.AllocRetries.Or(-1) != 7 {
		t.Errorf("%v out of memory, %v retries, want 3 and 7", p.OutOfMemoryCount, p.AllocRetries)
	}
}

// Any user can leave a record of an error with the identity of another user's process. The event is
// not recorded for that process. A process of the event's own user takes all events of that user.
func TestErrorIsOfAProcessOfItsUser(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	q.record(3)
	theirs := q.snap.Rows[5]
	q.snap.Rows = q.snap.Rows[:5]
	q.record(3)
	snap := q.next()
	event := func(user string, late time.Duration) snapshot.Event {
		return snapshot.Event{Time: snap.Time.Add(-late), Kind: snapshot.EventOutOfMemory, GPUUUID: theirs.ID.GPUUUID, Row: theirs.ID, User: user, Message: user}
	}
	flush, nobodys := event("mallory", 3*time.Second), event("mallory", 4*time.Second)
	flush.Kind, nobodys.Row = snapshot.EventFlush, snapshot.RowID{}
	q.w.write(tick{snap, []snapshot.Event{event("mallory", 0), event("mallory", time.Second), event(theirs.User, 2*time.Second), flush, nobodys}})
	r := q.end()
	path := r.between(time.Time{}, snap.Time)[0]
	d, err := r.day(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := d.number("SELECT count(DISTINCT process) FROM events WHERE kind = 'out_of_memory'"); n != 2 {
		t.Errorf("the errors of two users are of %d processes", n)
	}
	if n := d.number("SELECT count(*) FROM events e JOIN processes p USING (process) WHERE e.kind = 'out_of_memory' AND e.user IS p.user"); n != 3 {
		t.Errorf("%d of 3 errors are of a process of their user", n)
	}
	if n := d.number("SELECT count(*) FROM events e JOIN processes p USING (process) WHERE e.kind = 'flush' AND p.user = ?", theirs.User); n != 1 {
		t.Error("what was done to the process is not recorded as of it")
	}
	if n := d.number("SELECT count(*) FROM processes"); n != 7 {
		t.Errorf("%d processes, want 6 and one for the error of another user", n)
	}
}

// TestForecastOfALeakIsOfItsProcess: it has the process's figures, and no time at which the GPU is full.
func TestForecastOfALeakIsOfItsProcess(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	snap := q.next()
	row, gpu := &snap.Rows[0], &snap.GPUs[0]
	gpu.FullIn = &snapshot.FullIn{Median: 40 * time.Second}
	gpu.Predicted = []snapshot.Prediction{{Horizon: time.Minute, Median: 70}}
	row.Predicted = []snapshot.Prediction{{Horizon: time.Minute, Median: 7}, {Horizon: time.Hour, Median: 8}}
	snap.Alerts = []snapshot.Alert{{Kind: snapshot.AlertLeak, GPUUUID: gpu.UUID, Row: row.ID}}
	q.w.write(tick{snap, nil})
	got := queryRow(t, q.end(), "SELECT min(median_bytes), max(median_bytes), count(full_median_ns), min(pid) FROM forecasts JOIN processes USING (process)")
	if want := fmt.Sprint("7 8 0 ", row.ID.Process.PID); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestDetailsOfAnOutOfMemoryErrorAreRead: an error without details has none.
func TestDetailsOfAnOutOfMemoryErrorAreRead(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	snap := q.next()
	detailed := snapshot.Event{Time: snap.Time, Kind: snapshot.EventOutOfMemory, GPUUUID: snap.GPUs[0].UUID, Row: snap.Rows[0].ID, OutOfMemory: &snapshot.OutOfMemory{Allocator: "pytorch", Requested: probed(quantity.GiB)}}
	bare := snapshot.Event{Time: snap.Time, Kind: snapshot.EventOutOfMemory, GPUUUID: snap.GPUs[0].UUID, Row: snap.Rows[1].ID}
	q.w.write(tick{snap, []snapshot.Event{detailed, bare}})
	events, err := q.end().EventsBetween(snap.Time, q.now.Add(1))
	if err != nil || len(events) != 2 || events[0].OutOfMemory == nil || events[0].OutOfMemory.Allocator != "pytorch" || events[0].OutOfMemory.Requested.Or(0) != quantity.GiB || events[1].OutOfMemory != nil {
		t.Errorf("%+v, %v", events, err)
	}
}

// TestWhatEndsTogetherHasOneEnd: all processes and GPUs that are missing at a tick end there.
func TestWhatEndsTogetherHasOneEnd(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	q.synthetic = newSynthetic(20, 2)
	q.record(3)
	q.snap.GPUs, q.snap.Rows = q.snap.GPUs[:10], q.snap.Rows[:20]
	q.record(1)
	r := q.end()
	then, ok := r.At(q.now)
	if !ok || len(then.GPUs) != 10 || len(then.Rows) != 20 {
		t.Errorf("%v, %d GPUs, %d rows", ok, len(then.GPUs), len(then.Rows))
	}
	if running, err := r.Processes(q.now, q.now.Add(1)); err != nil || len(running) != 20 {
		t.Errorf("%d processes run, %v", len(running), err)
	}
}

// TestRunningProcessIsListed: the recorded last time of a running process may be five minutes old.
func TestRunningProcessIsListed(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	q.record(30)
	r := read(t, q.w.directory)
	if running, err := r.Processes(q.now, q.now.Add(1)); err != nil || len(running) != 6 {
		t.Errorf("%d processes, %v", len(running), err)
	}
	q.end()
}

func TestLarger(t *testing.T) {
	none, zero := snapshot.Bytes{}, driver(0)
	for _, c := range [][3]snapshot.Bytes{{none, none, none}, {none, zero, zero}, {zero, none, zero}, {driver(5), driver(3), driver(5)}, {driver(3), driver(5), driver(5)}, {none, driver(5), driver(5)}} {
		if got := larger(c[0], c[1]); got != c[2] {
			t.Errorf("%v or %v: %v", c[0], c[1], got)
		}
	}
}

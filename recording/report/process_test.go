package report

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

func count(n int) Count { return quantity.From(int64(n), quantity.Probe) }

// five adds five minutes of a process. used and cached are in GiB.
func (b box) five(id snapshot.RowID, minute int, used, cached float64, utilization recording.Utilization) {
	b.AddFiveMinutes(&recording.Process5Min{
		Time: at(minute), Row: id, Covered: 5 * time.Minute, Used: level80(used), Allocated: gib(used - cached), Cached: gib(cached),
		Utilization: utilization, AllocRetries: count(minute),
	}, count(100*minute))
}

func TestWastersKeepMemoryThatDoesNoWork(t *testing.T) {
	b := newBox("gpu", 1)
	b.use(0, 60, 60, 90)
	worker := b.started(1, 0, "alice", "train.py")
	idle := b.started(2, 0, "bob", "serve.py")
	brief := b.started(3, 0, "carol", "notebook.py")
	for m := 0; m < 60; m += 5 {
		b.five(worker, m, 24, 12, busy(90))
		b.five(idle, m, 24, 0, busy(0))
		if m < 10 {
			b.five(brief, m, 12, 6, busy(0)) // ten minutes are no idle holding
		}
	}
	r := b.report()
	if len(r.Groups) != 3 || r.Groups[0].Name != "serve.py" || r.Groups[1].Name != "train.py" || r.Groups[2].Name != "notebook.py" {
		t.Fatalf("%+v", r.Groups)
	}
	for i, want := range []struct{ wasted, idle, cached float64 }{{24, 24, 0}, {12, 0, 12}, {1, 0, 1}} {
		g := &r.Groups[i]
		about(t, g.Name+": wasted", g.WastedGiBHours, want.wasted)
		about(t, g.Name+": idle", g.IdleGiBHours, want.idle)
		about(t, g.Name+": cached", g.CachedGiBHours, want.cached)
	}
	if first := r.Groups[0]; !first.PID.Known() || first.PID.Or(0) != 2 || first.User != "bob" || first.Processes != 1 || first.RecordedSeconds != 3600 {
		t.Errorf("%+v", first)
	}
}

func TestProcessesOfAnIdleGPUAreIdle(t *testing.T) {
	b := newBox("gpu", 1)
	b.use(0, 20, 24, 50)
	b.use(20, 32, 24, 0) // 12 minutes, which do not begin or end with five minutes of a process
	b.use(32, 60, 24, 50)
	id := b.started(1, 0, "bob", "serve.py")
	for m := 0; m < 60; m += 5 {
		b.five(id, m, 24, 6, recording.Utilization{})
	}
	g := b.report().Groups[0]
	about(t, "idle", g.IdleGiBHours, 24*12./60)
	about(t, "wasted", g.WastedGiBHours, 24*12./60+6*48./60)
}

func TestIdleIsUnknownWithoutUtilisation(t *testing.T) {
	b := newBox("gpu", 1)
	b.AddMinute(&recording.GPUMinute{Time: at(0), GPUUUID: gpuA, Covered: time.Minute, Used: level80(8)})
	b.five(b.started(1, 0, "alice", "train.py"), 0, 8, 2, recording.Utilization{})
	if g := b.report().Groups[0]; g.IdleGiBHours.Known() {
		t.Errorf("%v GiB·h are idle", g.IdleGiBHours.Or(0))
	}
}

func TestGroupsSumTheirProcesses(t *testing.T) {
	for by, want := range map[string][]string{"user": {"alice", "bob"}, "job": {"slurm 7", "no job"}, "account": {"physics", "–"}, "command": {"train.py", "serve.py"}} {
		b := newBox(by, 1)
		job := process.Job{Kind: "slurm", ID: "7", Account: "physics"}
		for pid, who := range []string{"alice", "alice", "bob"} {
			p := processRow(row(pid+1, gpuA), who, "train.py")
			p.Job = job
			if who == "bob" {
				p = processRow(p.ID, who, "serve.py")
			}
			b.AddProcess(p)
			b.five(p.ID, 0, 12, 6, recording.Utilization{})
			b.five(p.ID, 5, 12, 6, recording.Utilization{})
			b.AddEvent(&snapshot.Event{Kind: snapshot.EventOutOfMemory, Time: at(5), GPUUUID: p.ID.GPUUUID, Row: p.ID}, Stayed{})
		}
		// The second process is on another GPU as well, but it is one process.
		second := processRow(row(2, gpuB), "alice", "train.py")
		second.Job = job
		b.AddProcess(second)
		b.five(row(2, gpuB), 0, 12, 6, recording.Utilization{})
		r := b.report()
		if len(r.Groups) != 2 || r.Groups[0].Name != want[0] || r.Groups[1].Name != want[1] {
			t.Fatalf("by %s: %+v", by, r.Groups)
		}
		first := r.Groups[0]
		if first.Processes != 2 || len(first.GPUs) != 2 || first.Failures.OutOfMemory.Or(0) != 2 || first.PID.Known() || first.Failures.Retries.Or(0) != 10 {
			t.Errorf("by %s: %+v", by, first)
		}
		about(t, "used", first.UsedGiBHours, 5)
		about(t, "steps per second", first.StepsPerSecond, 100./60)
	}
}

func TestStepsOfAGapAreNotCounted(t *testing.T) {
	b := newBox("gpu", 1)
	id := b.started(1, 0, "alice", "train.py")
	for _, m := range []int{0, 5, 10, 30, 35} { // 100 steps a minute, also in the gap
		b.five(id, m, 8, 2, recording.Utilization{})
	}
	b.AddFiveMinutes(&recording.Process5Min{Time: at(40), Row: id, Covered: time.Second, Used: level80(8), AllocRetries: count(40)}, count(4000))
	g := b.report().Groups[0]
	about(t, "steps per second", g.StepsPerSecond, 100./60)
	if g.Failures.Retries.Or(0) != 5+5+5+5 {
		t.Errorf("%d retries", g.Failures.Retries.Or(0))
	}
}

func TestCountersBeginAnewWithTheirProbe(t *testing.T) {
	var c counter
	for _, v := range []Count{count(100), count(150), {}, count(160), count(5), count(9)} {
		c.add(v, 5*time.Minute)
	}
	// The increases are 50, 5 after the probe restarted from 0, and 4. The gap counts for nothing.
	if c.sum != 59 || c.counted != 59 || c.since != 15*time.Minute {
		t.Errorf("%+v", c)
	}
	if c = (counter{}); c.known {
		t.Error("known before it was counted")
	}
}

func TestErrorsThatNobodyWatchedForAreUnknown(t *testing.T) {
	b := newBox("gpu", 1)
	b.use(0, 60, 24, 50)
	for _, g := range []string{gpuA, gpuB} {
		b.AddMinute(&recording.GPUMinute{Time: at(0), GPUUUID: g, Covered: time.Minute, Used: level80(24)})
	}
	b.five(b.started(1, 0, "alice", "simulate"), 0, 24, 0, recording.Utilization{})
	watched := row(2, gpuB)
	b.AddProcess(processRow(watched, "", "train.py"))
	b.processes[watched].OutOfMemoryCount = count(0)
	b.five(watched, 0, 24, 0, recording.Utilization{})
	r := b.report()
	for what, f := range map[string]schema.ReportFailures{"GPU": r.GPUs[0].Failures, "process": r.Groups[0].Failures} {
		if f.OutOfMemory.Known() || f.OutOfMemoryPerHour.Known() {
			t.Errorf("%s: %d errors, which were not watched for", what, f.OutOfMemory.Or(0))
		}
	}
	for what, f := range map[string]schema.ReportFailures{"GPU": r.GPUs[1].Failures, "process": r.Groups[1].Failures, "total": r.Total.Failures} {
		if !f.OutOfMemory.Known() || f.OutOfMemory.Or(0) != 0 {
			t.Errorf("%s: errors of a process that was watched are unknown", what)
		}
	}
	b.AddEvent(&snapshot.Event{Kind: snapshot.EventOutOfMemory, Time: at(1), GPUUUID: gpuA, Row: row(1, gpuA)}, Stayed{})
	if n := b.report().GPUs[0].Failures.OutOfMemory; n.Or(0) != 1 {
		t.Error("an error that was seen is not counted")
	}
}

// TestUnknownIsNoZero: without probes, wasted memory and retries are unknown. Without the driver's
// figures, idle holding and fills are unknown.
func TestUnknownIsNoZero(t *testing.T) {
	unprobed := func(utilization recording.Utilization, used recording.Sum) (box, schema.Report) {
		b := newBox("gpu", 2)
		id := b.started(1, 0, "alice", "train.py")
		for m := range 120 {
			b.AddMinute(&recording.GPUMinute{Time: at(m), GPUUUID: gpuA, Covered: time.Minute, Used: used, Utilization: utilization})
			if m%5 == 0 {
				b.AddFiveMinutes(&recording.Process5Min{Time: at(m), Row: id, Covered: fiveMinutes, Used: used, Utilization: utilization}, Count{})
			}
		}
		return b, b.report()
	}
	b, r := unprobed(busy(90), level80(60))
	if g := &r.Groups[0]; r.Total.WastedGiBHours.Known() || g.WastedGiBHours.Known() || g.Failures.Retries.Known() {
		t.Errorf("without probes: %+v", r.Total)
	}
	for _, line := range b.Compare(b.Builder).Lines {
		if line.Name == "alloc retries" || line.First.Known() && line.First.Or(0) == 0 {
			t.Errorf("without probes there is a line %+v", line)
		}
	}
	about(t, "idle", r.Total.IdleHours, 0)
	if !r.Forecaster.Fills.Known() {
		t.Error("used memory shows when it ran out")
	}
	b.AddEvent(&snapshot.Event{Time: at(1), Kind: snapshot.EventFlush, GPUUUID: gpuA}, Stayed{})
	if f := b.report().Flushes; f.Count != 1 || f.FreedBytes.Known() {
		t.Errorf("a flush that was not measured: %+v", f)
	}

	_, r = unprobed(busy(0), level80(60)) // all used memory of an idle process is wasted
	about(t, "wasted", r.Total.WastedGiBHours, 120)

	_, r = unprobed(busy(0), recording.Sum{})
	g, f := &r.Groups[0], &r.Forecaster
	if r.Total.IdleHours.Known() || g.IdleGiBHours.Known() || g.WastedGiBHours.Known() || f.Fills.Known() || f.Missed.Known() || f.Sudden.Known() {
		t.Errorf("without memory: %+v, %+v, %+v", r.Total, g, f)
	}
	for _, table := range Lay(&r, "–", 10).Tables {
		for _, row := range table.Rows {
			for i, cell := range row.Cells {
				if title := table.Columns[i].Title; title != "GPU" && title != "Utilization" && strings.HasPrefix(cell, "0") {
					t.Errorf("%s of %s is %s", title, table.Title, cell)
				}
			}
		}
	}
}

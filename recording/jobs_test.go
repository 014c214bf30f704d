package recording

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// TestJobHasOneLine: a job of two steps, half a minute apart, has one line, a minute after the second
// step. A service and a process without a job have none.
func TestJobHasOneLine(t *testing.T) {
	var jobs Jobs
	var lines []string
	now := start
	row := func(pid int, job process.Job) snapshot.Process {
		return snapshot.Process{
			ID: snapshot.RowID{Process: process.Identity{PID: pid}, GPUUUID: "GPU-1"}, GPU: 3, User: "alice", Job: job,
			Started: start.Add(-time.Hour), Used: driver(quantity.Bytes(pid) * quantity.GiB), SMUtilization: quantity.From(75, quantity.Driver),
			Probe: &snapshot.Probe{OutOfMemoryCount: quantity.From(int64(2), quantity.Probe)},
		}
	}
	observe := func(seconds int, rows ...snapshot.Process) {
		for range seconds {
			now = now.Add(time.Second)
			g := snapshot.GPU{Index: 3, UUID: "GPU-1", Sensors: metric.Sensors{Utilization: quantity.From(75, quantity.Driver)}}
			snap := &snapshot.Snapshot{Time: now, Interval: time.Second, GPUs: []snapshot.GPU{g}, Rows: rows}
			jobs.Observe(snap, func(message string, attributes ...any) {
				lines = append(lines, message+" "+fmt.Sprint(attributes...))
			})
		}
	}
	first, second := row(20, process.Job{Kind: "slurm", ID: "7", Step: "0"}), row(30, process.Job{Kind: "slurm", ID: "7", Step: "1"})
	first.Started, second.Started = time.Time{}, start.Add(-time.Minute)
	observe(100, first)
	first.Started = start.Add(-time.Hour)                                                    // the start could not be read before
	first.Probe = &snapshot.Probe{OutOfMemoryCount: quantity.From(int64(5), quantity.Probe)} // two of the errors were counted before the job was first seen
	observe(1701, first)
	observe(30)
	observe(1800, second)
	observe(59)
	if len(lines) > 0 {
		t.Fatalf("too early: %q", lines)
	}
	observe(1, row(1, process.Job{Kind: "service", ID: "ollama"}), row(2, process.Job{}))
	if len(lines) != 1 {
		t.Errorf("after a minute: %q", lines)
	}
	observe(100)
	want := "slurm 7 ended " + fmt.Sprint("user", "alice", "gpus", "3", "wall", "2h00m", "watched", "1h00m",
		"used_gpu_hours", "0.75", "idle_gpu_hours", "0.25", "peak", "30.0G", "oom", "3")
	if !slices.Equal(lines, []string{want}) {
		t.Errorf("%q, want\n%q", lines, want)
	}

	// Another user's cgroup with the same name is another job.
	lines = nil
	mallory := row(40, first.Job)
	mallory.User = "mallory"
	observe(10, row(20, first.Job), mallory)
	observe(100)
	if len(lines) != 2 || strings.Contains(lines[0], "alice") == strings.Contains(lines[1], "alice") {
		t.Errorf("%q", lines)
	}

	// A job whose number becomes known late does not become a second job.
	lines = nil
	late, beside := row(50, process.Job{Kind: "slurm", ID: "sEKNKTV3WPV500"}), row(51, process.Job{Kind: "slurm", ID: "sEKNKTV3WPV500"})
	observe(10, late, beside)
	late.Job.ID, beside.Job.ID = "88123", "88123"
	observe(10, late, beside)
	observe(100)
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "slurm 88123 ended") || !strings.Contains(lines[0], fmt.Sprint("watched", "19s")) {
		t.Errorf("%q", lines)
	}

	// A process whose job's number becomes known late joins the job that other processes run.
	lines = nil
	joins, runs := row(52, process.Job{Kind: "slurm", ID: "sEKNKTV3WPV501"}), row(53, process.Job{Kind: "slurm", ID: "88124"})
	observe(10, runs)
	observe(10, runs, joins)
	joins.Job.ID = "88124"
	observe(10, runs, joins)
	observe(100)
	if !slices.ContainsFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "slurm 88124 ended") && strings.Contains(line, fmt.Sprint("watched", "29s"))
	}) {
		t.Errorf("%q", lines)
	}

	// Unknown figures are not 0.
	lines = nil
	unknown := row(5, process.Job{Kind: "pod", ID: "nb", Namespace: "team"})
	unknown.Used, unknown.Probe, unknown.Started = snapshot.Bytes{}, nil, time.Time{}
	jobs.Observe(&snapshot.Snapshot{Time: now.Add(time.Second), Interval: time.Second, GPUs: []snapshot.GPU{{UUID: "GPU-1"}}, Rows: []snapshot.Process{unknown}}, nil)
	now = now.Add(time.Minute)
	observe(1)
	want = "pod nb ended " + fmt.Sprint("user", "alice", "gpus", "3", "wall", "0s", "watched", "0s", "used_gpu_hours", "–", "idle_gpu_hours", "–", "peak", "–", "oom", "–")
	if !slices.Equal(lines, []string{want}) {
		t.Errorf("%q, want\n%q", lines, want)
	}
}

// TestErrorsOfAJob: out-of-memory errors count from when the job is first seen, also if a probe starts
// again, and up to the end of the process. A process that begins later has all its errors counted.
func TestErrorsOfAJob(t *testing.T) {
	counted := func(n int64) *snapshot.Probe {
		return &snapshot.Probe{OutOfMemoryCount: quantity.From(n, quantity.Probe)}
	}
	job := process.Job{Kind: "slurm", ID: "7"}
	first := snapshot.Process{ID: snapshot.RowID{Process: process.Identity{PID: 1}}, User: "alice", Job: job, Started: start.Add(-time.Hour)}
	later := snapshot.Process{ID: snapshot.RowID{Process: process.Identity{PID: 2}}, User: "alice", Job: job, Started: start.Add(time.Minute)}
	end := func(p *snapshot.Process, n int64) snapshot.EndedProcess {
		return snapshot.EndedProcess{Last: *p, OutOfMemoryCount: quantity.From(n, quantity.Probe)}
	}
	stranger := snapshot.Process{ID: snapshot.RowID{Process: process.Identity{PID: 3}}, User: "bob", Job: process.Job{Kind: "slurm", ID: "8"}}
	var jobs Jobs
	var lines []string
	for second, tick := range []snapshot.Snapshot{
		{Rows: []snapshot.Process{first}},
		{Rows: []snapshot.Process{first, later}},
		{Rows: []snapshot.Process{first}},
		{Ended: []snapshot.EndedProcess{end(&first, 4), end(&later, 11), end(&stranger, 100)}}, // 3 more of the first, 1 of the second
		{Time: start.Add(time.Hour)},
	} {
		if tick.Time.IsZero() {
			tick.Time = start.Add(time.Duration(second) * time.Second)
		}
		for i := range tick.Rows {
			tick.Rows[i].Probe = counted([]int64{3, 5, 1}[second]) // 2 errors, then the probe starts again: 1
			if i == 1 {
				tick.Rows[i].Probe = counted(10)
			}
		}
		jobs.Observe(&tick, func(message string, attributes ...any) {
			lines = append(lines, message+fmt.Sprint(attributes[len(attributes)-2:]...))
		})
	}
	if want := []string{"slurm 7 endedoom17"}; !slices.Equal(lines, want) { // 2 + 1 + 3 and 10 + 1
		t.Errorf("%q, want %q", lines, want)
	}
	if len(jobs.running) > 0 || len(jobs.rows) > 0 {
		t.Errorf("%v and %v stay in memory", jobs.running, jobs.rows)
	}
}

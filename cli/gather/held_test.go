package gather

import (
	"math"
	"strings"
	"testing"
	"time"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/recording"
	evaluation "vramscope/recording/report"
	"vramscope/sampler/snapshot"
)

// TestJobHoldsAGPUWithoutAProcess: alice's job has a GPU for ten minutes and runs on it only in the
// last four. The recording and its report show both, even if the recorder was killed.
func TestJobHoldsAGPUWithoutAProcess(t *testing.T) {
	for _, killed := range []bool{false, true} {
		directory := t.TempDir()
		w := recording.Start(directory, recording.Options{})
		begin := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		job := process.Job{Kind: "slurm", ID: "88123", Account: "physics"}
		for second := range 600 {
			snap := &snapshot.Snapshot{Time: begin.Add(time.Duration(second) * time.Second), Interval: 2 * time.Second} // at this interval each snapshot is committed at once
			g := snapshot.GPU{UUID: "GPU-1", State: snapshot.GPUOK, Memory: snapshot.Memory{Total: quantity.From(80*quantity.GiB, quantity.Driver)}}
			g.Memory.Used = quantity.From(quantity.Bytes(0), quantity.Driver)
			g.Sensors = metric.Sensors{Utilization: quantity.From(0, quantity.Driver)}
			if second < 360 {
				g.Allocation = &snapshot.JobAllocation{Job: job, User: "alice", Since: begin.Add(-time.Hour)}
			} else {
				id := snapshot.RowID{Process: process.Identity{PID: 7, StartTime: 1}, GPUUUID: g.UUID}
				snap.Rows = []snapshot.Process{{ID: id, User: "alice", Job: job, Name: "train", Type: "C", Used: quantity.From(quantity.GiB, quantity.Driver)}}
			}
			snap.GPUs = []snapshot.GPU{g}
			for w.Append(snap, nil) != nil {
				time.Sleep(time.Millisecond)
			}
		}
		if killed {
			for w.State().Ticks < 600 {
				time.Sleep(time.Millisecond)
			}
		} else if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := recording.Open(directory)
		if err != nil {
			t.Fatal(err)
		}
		then, _ := r.At(begin.Add(5 * time.Minute))
		if a := then.GPUs[0].Allocation; a == nil || a.String() != "slurm 88123 (alice) holds it" || !a.Since.Equal(begin.Add(-time.Hour)) || len(then.Rows) > 0 {
			t.Errorf("killed %v: the past has %v and %d rows", killed, a, len(then.Rows))
		}
		if then, _ := r.At(begin.Add(9 * time.Minute)); then.GPUs[0].Allocation != nil || len(then.Rows) != 1 || len(then.Ended) != 0 {
			t.Errorf("killed %v: later %v, %d rows, %d ended", killed, then.GPUs[0].Allocation, len(then.Rows), len(then.Ended))
		}
		for _, by := range []string{"user", "job", "account", "command"} {
			b, err := Report(r, evaluation.Question{From: begin, To: begin.Add(10 * time.Minute), By: by}, &action.Log{Directory: directory})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			held, idle, processes := 0.0, 0.0, 0
			for _, g := range b.Report(begin).Groups {
				names = append(names, g.Name)
				held, idle, processes = held+g.HeldGPUHours.Or(-1), idle+g.IdleGPUHours.Or(-1), processes+g.Processes
			}
			want := map[string]string{"user": "alice", "job": "slurm 88123", "account": "physics", "command": "train no process"}[by]
			if got := strings.Join(names, " "); got != want || processes != 1 || math.Abs(held-1./6) > .001 || math.Abs(idle-1./6) > .001 {
				t.Errorf("killed %v, by %s: %q, want %q; %v GPU·h held, %v idle, by %d processes", killed, by, got, want, held, idle, processes)
			}
		}
		if trace, err := Trace(r); err != nil || len(trace.Series) != 1 {
			t.Errorf("killed %v: a trace of %v, %v", killed, trace, err)
		}
		r.Close()
		if killed {
			_ = w.Close()
		}
	}
}

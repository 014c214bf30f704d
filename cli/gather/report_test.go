package gather

import (
	"errors"
	"math"
	"os"
	"testing"
	"time"

	"vramscope/action"
	"vramscope/internal/quantity"
	"vramscope/recording"
	evaluation "vramscope/recording/report"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// Two alerts of a GPU at one tick have a forecast each: one is about the GPU, the other about an
// instance of it.
func TestAlertsOfOneTick(t *testing.T) {
	directory := t.TempDir()
	w := recording.Start(directory, recording.Options{})
	begin := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	instance := snapshot.InstanceID{MIG: true, GPU: 1}
	for second := 0; second < 180; second += 10 {
		snap := *snapshottest.DayOne()
		snap.Time, snap.Interval, snap.Ended, snap.Alerts = begin.Add(time.Duration(second)*time.Second), 10*time.Second, nil, nil
		gpu := snap.GPUs[0]
		gpu.Memory.Used = quantity.From(gpu.Memory.Total.Or(0)/2, quantity.Driver)
		if second >= 120 {
			gpu.Memory.Used = gpu.Memory.Total
		}
		full := func(in time.Duration) ([]snapshot.Prediction, *snapshot.FullIn) {
			return []snapshot.Prediction{{Horizon: time.Minute}}, &snapshot.FullIn{Median: in, Earliest: in - 10*time.Second, Latest: in + 10*time.Second}
		}
		gpu.Predicted, gpu.FullIn = full(time.Minute)
		in := snapshot.Instance{ID: instance}
		in.Predicted, in.FullIn = full(9 * time.Minute)
		gpu.Instances = []snapshot.Instance{in}
		snap.GPUs, snap.Rows = []snapshot.GPU{gpu}, nil
		if second >= 60 {
			alert := snapshot.Alert{Kind: snapshot.AlertFullIn, GPUUUID: gpu.UUID, Since: begin.Add(time.Minute)}
			other := alert
			other.Instance = instance
			snap.Alerts = []snapshot.Alert{alert, other}
		}
		if err := w.Append(&snap, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	b, err := Report(r, evaluation.Question{From: begin, To: begin.Add(3 * time.Minute), By: "gpu"}, &action.Log{Directory: directory})
	if err != nil {
		t.Fatal(err)
	}
	if f := b.Report(begin).Forecaster; f.Alerts != 1 || f.Hits != 1 || f.IntervalOf != 1 || f.IntervalHeld != 1 {
		t.Errorf("%+v", f)
	}
}

// TestIdleTimeUpToAKill: a recorder was killed and started again. The last minutes before the kill
// are in their place in time: an idle GPU is idle until the kill.
func TestIdleTimeUpToAKill(t *testing.T) {
	begin := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	record := func(directory string, from, to time.Duration) *recording.Writer {
		t.Helper()
		w := recording.Start(directory, recording.Options{})
		for at := from; at < to; at += 10 * time.Second {
			snap := *snapshottest.DayOne()
			snap.Time, snap.Interval, snap.Ended, snap.Alerts, snap.Rows = begin.Add(at), 10*time.Second, nil, nil, nil
			gpu := snap.GPUs[0]
			gpu.Memory.Used, gpu.Utilization = quantity.From(2*quantity.GiB, quantity.Driver), quantity.From(0, quantity.Driver)
			snap.GPUs = []snapshot.GPU{gpu}
			for w.Append(&snap, nil) != nil {
				time.Sleep(time.Millisecond) // its queue is full
			}
		}
		return w
	}
	before, directory := t.TempDir(), t.TempDir()
	w := record(before, 0, 13*time.Minute+30*time.Second)
	for end := time.Now().Add(10 * time.Second); w.State().Ticks < 81; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is committed")
		}
	}
	if err := errors.Join(os.CopyFS(directory, os.DirFS(before)), w.Close(), record(directory, 20*time.Minute, 22*time.Minute).Close()); err != nil {
		t.Fatal(err)
	}
	r, err := recording.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	b, err := Report(r, evaluation.Question{From: begin, To: begin.Add(time.Hour), By: "gpu"}, &action.Log{Directory: directory})
	if err != nil {
		t.Fatal(err)
	}
	g := b.Report(begin.Add(time.Hour)).GPUs[0]
	if !g.IdleHours.Known() {
		t.Fatal("its idle time is unknown")
	}
	if math.Abs(g.IdleHours.Or(0)*60-13.5) > 0.2 || math.Abs(g.RecordedSeconds-930) > 20 {
		t.Errorf("idle for %.1f min, recorded %v s", g.IdleHours.Or(0)*60, g.RecordedSeconds)
	}
}

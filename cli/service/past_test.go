package service

import (
	"path/filepath"
	"testing"
	"time"

	"vramscope/metric"
	"vramscope/recording"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
)

// TestDaemonsPastBeginsWithItsRecording: a restarted daemon has what the previous one recorded,
// without a gap.
func TestDaemonsPastBeginsWithItsRecording(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "recordings")
	writer := recording.Start(directory, recording.Options{})
	at := time.Now().Truncate(time.Second).Add(-10 * time.Minute)
	began := at
	clock := func() time.Time { return at }
	box := simulator.New(simulator.Options{Clock: clock})
	options := sampler.Options{Devices: box, Probes: box, Processes: box, Clock: clock, Simulated: true, Deadline: time.Minute}
	sample := func(s *sampler.Sampler, ticks int) (latest *snapshot.Snapshot) {
		for range ticks {
			at = at.Add(time.Second)
			latest = s.Tick(at)
			events := []snapshot.Event{{Time: at, Kind: snapshot.EventXID, Message: "Xid 79"}}
			for writer.Append(latest, events) != nil { // in a test the disk can be too slow
				time.Sleep(time.Millisecond)
			}
		}
		return latest
	}
	sample(sampler.New(options), 120)
	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
	seam := at
	again := sampler.New(options)
	latest := sample(again, 60)
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}

	past := recording.Whole(again.History(), longPast(directory, time.Now))
	oldest, newest := past.Span()
	if !oldest.Equal(began.Add(time.Second)) || !newest.Equal(at) {
		t.Errorf("from %s to %s, want %s to %s", oldest, newest, began, at)
	}
	for _, then := range []time.Time{began.Add(time.Minute), seam.Add(30 * time.Second)} {
		if snap, ok := past.At(then); !ok || len(snap.GPUs) != len(latest.GPUs) || !snap.GPUs[0].Memory.Used.Known() {
			t.Errorf("at %s: %t, %+v", then, ok, snap)
		}
	}
	points := past.Series(snapshot.SeriesKey{Metric: metric.Used, GPUUUID: latest.GPUs[0].UUID}, began, at, 90)
	for i, p := range points {
		if !p.Known {
			t.Errorf("a gap at %s, bucket %d", p.Time, i)
		}
	}
	events := past.Events(0)
	if len(events) == 0 || !events[len(events)-1].Time.Before(seam) {
		t.Errorf("no event before the seam: %+v", events)
	}
	nothing := recording.Whole(again.History(), longPast(t.TempDir(), time.Now))
	if _, ok := nothing.At(began.Add(time.Minute)); ok || len(nothing.Events(3)) > 3 {
		t.Error("there is a past without a recording")
	}
	if _, ok := past.At(began.Add(-time.Minute)); ok {
		t.Error("a moment before the recording")
	}
}

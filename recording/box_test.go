package recording

import (
	"testing"
	"time"

	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
)

// box is the simulated box on a clock that the test moves, and a writer that
// records what its sampler publishes.
type box struct {
	t       testing.TB
	now     time.Time
	sampler *sampler.Sampler
	writer  *Writer
	sim     *simulator.Box
	events  int
}

// start is four minutes before midnight.
var start = time.Date(2026, 11, 20, 23, 56, 0, 0, time.UTC)

func newBox(t testing.TB, options Options) *box {
	t.Helper()
	b := &box{t: t, now: start}
	clock := func() time.Time { return b.now }
	sim := simulator.New(simulator.Options{Seed: 1, Clock: clock})
	b.sim = sim
	b.sampler = sampler.New(sampler.Options{Devices: sim, Probes: sim, Processes: sim, Clock: clock, Simulated: true, Deadline: time.Minute})
	b.open(t.TempDir(), options)
	return b
}

// open begins to record; the test calls write and commit itself.
func (b *box) open(directory string, options Options) {
	b.t.Helper()
	w, err := newWriter(directory, options)
	if err != nil {
		b.t.Fatal(err)
	}
	b.writer = w
}

// tick lets time pass, samples and records.
func (b *box) tick(step time.Duration) *snapshot.Snapshot {
	b.t.Helper()
	b.now = b.now.Add(step)
	snap := b.sampler.Tick(b.now)
	all := b.sampler.History().Events(0)
	fresh := all[:len(all)-b.events]
	b.events = len(all)
	var events []snapshot.Event
	for i := len(fresh) - 1; i >= 0; i-- {
		events = append(events, fresh[i])
	}
	b.writer.write(tick{snap, events})
	if s := b.writer.State(); s.Paused {
		b.t.Fatalf("recording is paused: %s", s.Reason)
	}
	return snap
}

// close ends the recording and reads it.
func (b *box) close() *Recording {
	b.t.Helper()
	directory := b.writer.directory
	if err := b.writer.end(); err != nil {
		b.t.Fatal(err)
	}
	return read(b.t, directory)
}

// read opens a recording for the time of the test.
func read(t testing.TB, directory string) *Recording {
	t.Helper()
	r, err := Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

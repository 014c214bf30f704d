package simulator_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/sampler/simulator"
)

func TestFlushGivesTheDriverWhatWasReturnable(t *testing.T) {
	b := open(t, simulator.Options{})
	m := b.look(0)
	for _, who := range []struct {
		gpu           int
		user, command string
	}{
		{0, "alice", "train.py"}, {2, "bob", "serve"}, {3, "carol", "finetune.py"},
		{4, "dave", "dlrm.py"}, {5, "frank", "ipykernel_launcher"}, {7, "erin", "t5x/train.py"},
	} {
		p, ok := m.owned(who.gpu, who.user, who.command)
		a, answered := m.answer(p.PID)
		if !ok || !answered {
			t.Fatalf("%v is not there", who)
		}
		al := a.Report.Devices[0].Allocators[0]
		// What a stream still uses is waited for, and its segments go too.
		pending := quantity.Bytes(0)
		if al.PendingBytes != nil {
			pending = *al.PendingBytes
		}
		before, after, err := b.Flush(p.PID)
		if err != nil {
			t.Fatal(err)
		}
		freed := before - after
		if before != *al.ReservedBytes || freed < *al.ReturnableBytes || freed > *al.ReturnableBytes+pending+64*quantity.MiB {
			t.Errorf("%s: %s returnable, %s pending, freed %s", who.user, *al.ReturnableBytes, pending, freed)
		}
		now, _ := b.look(0).owned(who.gpu, who.user, who.command)
		if p.Used.Or(0)-now.Used.Or(0) != freed {
			t.Errorf("%s: the driver fell from %v to %v, freed %s", who.user, p.Used, now.Used, freed)
		}
	}
}

func TestFlushNeedsAProbe(t *testing.T) {
	b := open(t, simulator.Options{})
	for _, pid := range []int{1907, 184, 4} {
		if _, _, err := b.Flush(pid); err == nil {
			t.Errorf("PID %d was flushed", pid)
		}
	}
}

func TestClosedDriverDoesNotAnswer(t *testing.T) {
	b := open(t, simulator.Options{})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Read(b.devices[0]); !errors.Is(err, nvml.ErrUninitialized) {
		t.Errorf("got %v", err)
	}
	if _, _, err := b.Open(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Read(b.devices[0]); err != nil {
		t.Errorf("after opening again: %v", err)
	}
	if _, err := b.Read(nvml.Device{UUID: "GPU-of-another-box"}); err == nil {
		t.Error("a GPU that is not there was read")
	}
}

func TestReadersMayComeAllAtOnce(t *testing.T) {
	b := open(t, simulator.Options{})
	var readers sync.WaitGroup
	for i, d := range b.devices {
		readers.Go(func() {
			for at := range 200 {
				b.clock.set(time.Duration(at*8+i) * 100 * time.Millisecond)
				if _, err := b.Read(d); err != nil && !errors.Is(err, nvml.ErrGPULost) {
					t.Error(err)
				}
				b.Answers()
				b.Host(b.clock.Now())
				b.Processes(b.clock.Now(), []int{1907, 2963101})
			}
		})
	}
	readers.Wait()
}

// BenchmarkSecond is what the demo costs: one second of the story and all that
// the sampler asks in it.
func BenchmarkSecond(b *testing.B) {
	box := open(b, simulator.Options{})
	b.ReportAllocs()
	var at time.Duration
	for b.Loop() {
		at += time.Second
		box.look(at)
	}
}

// BenchmarkEightHours is what a test over a working day costs.
func BenchmarkEightHours(b *testing.B) {
	for b.Loop() {
		box := open(b, simulator.Options{})
		box.look(8 * time.Hour)
	}
}

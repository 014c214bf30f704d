package simulator_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/nvml"
	"vramscope/sampler/simulator"
)

func TestOnlyTheBoxesGPUsAreRead(t *testing.T) {
	b := open(t, simulator.Options{})
	if _, err := b.Read(b.devices[0]); err != nil {
		t.Error(err)
	}
	if _, err := b.Read(nvml.Device{UUID: "GPU-of-another-box"}); err == nil {
		t.Error("a GPU that is not there was read")
	}
}

func TestConcurrentReads(t *testing.T) {
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
				b.Processes(b.clock.Now(), []int{1907, 2963101}, func(*process.Info) {})
			}
		})
	}
	readers.Wait()
}

// BenchmarkSecond measures one second of the story with the sampler's calls.
func BenchmarkSecond(b *testing.B) {
	box := open(b, simulator.Options{})
	b.ReportAllocs()
	var at time.Duration
	for b.Loop() {
		at += time.Second
		box.look(at)
	}
}

// BenchmarkPrelude measures ten minutes of prelude, sampled every 4 s.
func BenchmarkPrelude(b *testing.B) {
	const long = 10 * time.Minute
	for b.Loop() {
		box := open(b, simulator.Options{Prelude: long})
		for at := -long; at < 0; at += 4 * time.Second {
			box.look(at)
		}
	}
}

// BenchmarkEightHours measures eight hours of the story.
func BenchmarkEightHours(b *testing.B) {
	for b.Loop() {
		box := open(b, simulator.Options{})
		box.look(8 * time.Hour)
	}
}

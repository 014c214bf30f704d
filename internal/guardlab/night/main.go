// Command night records a simulated night of the demo's box, a sample a second, in much less time
// than a night. vramscope guard replay shows what a guard would have done:
//
//	go run ./internal/guardlab/night DIR && vramscope guard replay DIR
package main

import (
	"fmt"
	"os"
	"time"

	"vramscope/recording"
	"vramscope/sampler"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
)

const (
	hours = 8
	seed  = 20001
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: night DIR")
		os.Exit(2)
	}
	if err := record(os.Args[1], hours*time.Hour); err != nil {
		fmt.Fprintln(os.Stderr, "night:", err)
		os.Exit(1)
	}
}

func record(directory string, length time.Duration) error {
	now := time.Date(2026, time.November, 20, 22, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	box := simulator.New(simulator.Options{Seed: seed, Clock: clock})
	s := sampler.New(sampler.Options{Devices: box, Probes: box, Processes: box, Clock: clock, Simulated: true, Deadline: time.Minute})
	w := recording.Start(directory, recording.Options{Keep: 1 << 62}) // the night is long ago: keep everything
	var newest time.Time                                              // the events up to this time are recorded
	for end := now.Add(length); now.Before(end); now = now.Add(time.Second) {
		snap := s.Tick(now)
		var fresh []snapshot.Event
		for _, e := range s.History().Events(0) {
			if !e.Time.After(newest) {
				break
			}
			fresh = append([]snapshot.Event{e}, fresh...)
		}
		newest = now
		for w.Append(snap, fresh) != nil { // the writer is slower than the simulation
			time.Sleep(time.Millisecond)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

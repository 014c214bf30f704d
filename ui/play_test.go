package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	ossignal "os/signal"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"vramscope/action/attach"
	"vramscope/action/flush"
	"vramscope/action/signal"
	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
	"vramscope/ui/terminal"
	"vramscope/ui/uitest"
)

// TestMain runs the program itself if VRAMSCOPE_UI_PLAY names a play: a journey executes this test binary with it.
func TestMain(m *testing.M) {
	if play := os.Getenv("VRAMSCOPE_UI_PLAY"); play != "" {
		os.Exit(perform(play))
	}
	os.Exit(m.Run())
}

// tick is how long a second of the box takes in the plays.
const tick = 100 * time.Millisecond

// perform runs one play until the user quits, and returns the exit status.
func perform(play string) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	source := &playSource{fakeSource: newFakeSource(boxAt(play, 0)), play: play}
	options := Options{
		Source: source, Sampling: source, Version: "1.0.0",
		History: fakeHistory{moments: []*snapshot.Snapshot{smallBox(4, 3, -600), smallBox(4, 3, -60), smallBox(4, 3, 0)}},
		Actions: Actions{Signal: func(_ context.Context, r signal.Request) (signal.Result, error) {
			return signal.Result{}, fmt.Errorf("refused: PID %d is another process now", r.Process.PID)
		}},
		Environment: func(id process.Identity) ([]process.Variable, error) {
			if play == "panic in a command" {
				panic("made to panic")
			}
			return []process.Variable{{Name: "CUDA_VISIBLE_DEVICES", Value: "0,1"}}, nil
		},
	}
	if play == "probed" {
		bindProbes(&options.Actions)
	}
	var calls atomic.Int64
	began := time.Now()
	options.Now = func() time.Time { // called by the first frame and by Update
		switch n := calls.Add(1); {
		case play == "panic in update" && n == 10, play == "panic in the first frame" && n == 2:
			panic("made to panic")
		case play == "hang" && n >= 10:
			select {}
		}
		return noon().Add(time.Since(began))
	}
	found := make(chan os.Signal, 1)
	ossignal.Notify(found, syscall.SIGUSR1)
	go func() {
		for {
			time.Sleep(tick)
			// From the clock: on a loaded machine longer sleeps would add up, and samples would be late.
			second := int(time.Since(began) / tick)
			box := boxAt(play, second)
			if play == "lost" && second >= 10 && len(found) == 0 {
				lose(box)
			}
			source.publish(box)
			if play == "failure" && second >= 5 {
				cancel(errors.New("sampler: it broke"))
			}
		}
	}()
	err := Run(ctx, options.withDefaults())
	var crash *terminal.Crash
	switch {
	case errors.As(err, &crash):
		fmt.Fprintln(os.Stderr, err)
		return crash.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, "vramscope:", err)
		return 1
	}
	source.mu.Lock()
	defer source.mu.Unlock()
	fmt.Fprintf(os.Stderr, "suspended %d, resumed %d, aligned %d, interval %v\n", source.suspended, source.resumed, source.aligned, source.interval)
	return 0
}

// bindProbes binds actions that work with probes. Every third call of them fails.
func bindProbes(actions *Actions) {
	var calls atomic.Int64
	refused := func() error {
		if calls.Add(1)%3 == 0 {
			return errors.New("probe: busy")
		}
		return nil
	}
	actions.Flush = func(_ context.Context, r flush.Request) (flush.Result, error) {
		return drawnResult(r), refused()
	}
	actions.Attachable = func(context.Context, process.Identity) attach.Plan {
		if refused() != nil {
			return refusedPlan()
		}
		return drawnPlan()
	}
	actions.Attach = func(context.Context, attach.Request) (attach.Result, error) {
		return attach.Result{Standstill: time.Millisecond}, refused()
	}
	actions.Segments = func(context.Context, process.Identity, string) (snapshot.SegmentMap, error) {
		return uitest.CarolsSegments(), refused()
	}
}

// playSource is the source of a play. One play makes it panic.
type playSource struct {
	*fakeSource
	play  string
	calls int
}

func (s *playSource) Latest() *snapshot.Snapshot {
	latest := s.fakeSource.Latest()
	s.calls++
	if s.calls < 8 {
		return latest
	}
	if s.play == "panic in a goroutine" {
		panic("made to panic")
	}
	return latest
}

// lose makes GPU 2 lost; SIGUSR1 ends that.
func lose(s *snapshot.Snapshot) {
	g := &s.GPUs[2]
	g.State, g.Since, g.Message = snapshot.GPULost, s.Time, "ERROR_GPU_IS_LOST"
	g.LastUsed, g.Memory.Used = g.Memory.Used, snapshot.Bytes{}
	s.Alerts = []snapshot.Alert{{Kind: snapshot.AlertLost, GPU: 2, GPUUUID: g.UUID, Message: "GPU 2 is lost"}}
}

// boxAt returns the snapshot of a play at a second.
func boxAt(play string, second int) *snapshot.Snapshot {
	s := smallBox(4, 3, second)
	s.Time = noon().Add(time.Duration(second) * tick)
	switch play {
	case "quiet", "deaf":
		at := s.Time
		s = smallBox(4, 3, 0) // nothing moves
		s.Time = at
	case "probed":
		for i := range s.Rows {
			if p := &s.Rows[i]; i%3 > 0 {
				full := carol()
				p.Runtime, p.Probe, p.Allocators, p.Evictable = full.Runtime, full.Probe, full.Allocators, full.Evictable
				p.Allocated, p.Cached, p.Fragmented, p.Returnable, p.Other = full.Allocated, full.Cached, full.Fragmented, full.Returnable, full.Other
			}
		}
		s.ProbeSeen = true
	case "sixteen":
		at := s.Time
		s = smallBox(16, 2, second)
		s.Time = at
	case "alarm":
		if second >= 10 {
			g := &s.GPUs[1]
			g.FullIn = &snapshot.FullIn{Median: 250 * time.Second, Earliest: 3 * time.Minute, Latest: 6 * time.Minute}
			s.Alerts = []snapshot.Alert{{
				Kind: snapshot.AlertFullIn, Severity: snapshot.Urgent, GPU: 1, GPUUUID: g.UUID,
				Note: "full in 4m10s (3m–6m)", Message: "GPU 1 full in 4m10s (3m–6m)",
			}}
		}
	case "ends": // from second 10 on, the first process has ended
		if second >= 10 {
			last := s.Rows[0]
			s.Rows = s.Rows[1:]
			s.Ended = []snapshot.EndedProcess{{Last: last, Ended: s.Time}}
		}
	case "hostile":
		for i := range s.Rows {
			s.Rows[i].Name = "\x1b[2J\x1b]0;owned\x07\x9b31m"
			s.Rows[i].Command = []string{"/bin/\x1b[2J\x1b[H", "\u202e\u200f\x07\r\n", "名前", "e\u0301\u0301"}
			s.Rows[i].User = "\x1b[31m\n"
		}
	}
	return s
}

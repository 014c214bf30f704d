package sampler

import (
	"context"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

func TestSampleNowAsksALostDriverAtOnce(t *testing.T) {
	b := newBox(1)
	b.openErr = nvml.ErrDriverNotLoaded
	s := b.sampler(func(o *Options) { o.Interval = time.Hour }) // only the first tick, and the ticks of SampleNow
	for range 60 {
		b.tick(s)
	}
	if retry := s.Latest().Driver.RetryAt; retry.Sub(b.now) < 2*time.Second {
		t.Fatalf("the next try is due in %v, too soon for this test", retry.Sub(b.now))
	}
	b.mu.Lock()
	b.openErr = nil
	b.mu.Unlock()

	ctx, cancel := context.WithCancel(t.Context())
	finished := make(chan error, 1)
	go func() { finished <- s.Run(ctx) }()
	<-s.Updates()
	deadline := time.Now().Add(5 * time.Second)
	for s.Latest().Driver.State != snapshot.DriverOK && time.Now().Before(deadline) {
		s.SampleNow()
	}
	if state := s.Latest().Driver.State; state != snapshot.DriverOK {
		t.Errorf("the driver is %s, although SampleNow asked it", state)
	}
	cancel()
	if err := <-finished; err != nil {
		t.Error(err)
	}
}

func TestRefreshSamplesAtOnce(t *testing.T) {
	b := newBox(1)
	s := New(Options{Devices: b, Processes: b, Interval: MaxInterval})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-s.Updates()
	before := s.Latest()

	within, done := context.WithTimeout(ctx, testTimeout)
	defer done()
	snap := s.Refresh(within)
	if snap.Sequence != before.Sequence+1 || s.Latest() != snap {
		t.Errorf("snapshot %d after %d, the latest is %d", snap.Sequence, before.Sequence, s.Latest().Sequence)
	}
	s.Suspend()
	if got := s.Refresh(within); got != snap {
		t.Errorf("a suspended sampler has taken snapshot %d", got.Sequence)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := s.Refresh(ctx); got != snap {
		t.Errorf("snapshot %d after the end of Run", got.Sequence)
	}
}

// lateNames is a /proc whose command lines are there only from the second call on.
type lateNames struct {
	*box
	looks int
}

func (l *lateNames) Processes(now time.Time, pids []int, found func(*process.Info)) {
	l.looks++
	l.box.Processes(now, pids, func(info *process.Info) {
		if l.looks == 1 {
			info.Command = nil
		}
		found(info)
	})
}

func TestMissingNamesBringTheSecondTickForward(t *testing.T) {
	b := newBox(1)
	s := New(Options{Devices: b, Processes: &lateNames{box: b}, Interval: MaxInterval})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-s.Updates()
	if command := s.Latest().Rows[0].Command; command != nil {
		t.Fatalf("the first snapshot has %v", command)
	}
	select {
	case <-s.Updates():
	case <-time.After(testTimeout):
		t.Fatal("the second snapshot did not come")
	}
	if command := s.Latest().Rows[0].Command; len(command) == 0 {
		t.Error("the second snapshot has no command line")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestAlignedTicks(t *testing.T) {
	start := time.Now()
	for _, c := range []struct{ interval, beside, next, want time.Duration }{
		{time.Second, 300 * time.Millisecond, 2000 * time.Millisecond, 1300 * time.Millisecond},
		{time.Second, 300 * time.Millisecond, 2300 * time.Millisecond, 2300 * time.Millisecond},
		{time.Second, 5300 * time.Millisecond, 2000 * time.Millisecond, 1300 * time.Millisecond}, // the other clock began later
		{5 * time.Second, 300 * time.Millisecond, 5000 * time.Millisecond, 4300 * time.Millisecond},
		{250 * time.Millisecond, 300 * time.Millisecond, 2000 * time.Millisecond, 1800 * time.Millisecond},
	} {
		s := New(Options{Interval: c.interval})
		if got := s.aligned(start.Add(c.next)); got != start.Add(c.next) {
			t.Errorf("%+v: without another clock %v", c, got.Sub(start))
		}
		s.Align(start.Add(c.beside))
		if got := s.aligned(start.Add(c.next)); got != start.Add(c.want) {
			t.Errorf("%+v: got %v", c, got.Sub(start))
		}
	}
}

// Ticks keep their interval, even if it is not a whole number of seconds.
func TestAlignedTicksKeepTheirInterval(t *testing.T) {
	for _, interval := range []time.Duration{100, 300, 700, 1000, 1500, 2000, 2500, 10_000, 15_250} {
		interval *= time.Millisecond
		s := New(Options{Interval: interval})
		next := time.Now()
		s.Align(next.Add(-345 * time.Millisecond))
		for tick := range 6 {
			before := next
			if next = s.aligned(next).Add(s.Interval()); tick > 0 && next.Sub(before) != interval {
				t.Errorf("interval %v: tick %d comes %v after the one before", interval, tick, next.Sub(before))
			}
		}
	}
}

package sampler

import (
	"context"
	"testing"
	"time"

	"vramscope/internal/process"
)

func TestARefreshSamplesAtOnce(t *testing.T) {
	b := newBox(1)
	s := New(Options{Devices: b, Processes: b, Interval: MaxInterval})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-s.Updates()
	before := s.Latest()

	within, done := context.WithTimeout(ctx, patience)
	defer done()
	snap := s.Refresh(within)
	if snap.Sequence != before.Sequence+1 || s.Latest() != snap {
		t.Errorf("snapshot %d after %d, the latest is %d", snap.Sequence, before.Sequence, s.Latest().Sequence)
	}
	s.Suspend()
	if got := s.Refresh(within); got != snap {
		t.Errorf("a suspended sampler has read its sources: snapshot %d", got.Sequence)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got := s.Refresh(ctx); got != snap {
		t.Errorf("nobody ticks any more, and there is snapshot %d", got.Sequence)
	}
}

// lateNames is a /proc whose command lines come with the second look.
type lateNames struct {
	*box
	looks int
}

func (l *lateNames) Processes(now time.Time, pids []int) map[int]process.Info {
	infos := l.box.Processes(now, pids)
	if l.looks++; l.looks == 1 {
		for pid, info := range infos {
			info.Command = nil
			infos[pid] = info
		}
	}
	return infos
}

func TestNamesThatComeLateAreNotWaitedForAWholeInterval(t *testing.T) {
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
	case <-time.After(patience):
		t.Fatal("the second snapshot did not come")
	}
	if command := s.Latest().Rows[0].Command; len(command) == 0 {
		t.Error("the second has no command line either")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

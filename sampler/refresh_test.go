package sampler

import (
	"context"
	"testing"
	"time"
)

func TestARefreshSamplesAtOnce(t *testing.T) {
	b := newBox(1)
	s := New(Options{Devices: b, Processes: b, Interval: MaxInterval})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-s.Updates()
	before := s.Latest()

	within, done := context.WithTimeout(ctx, 10*time.Second)
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

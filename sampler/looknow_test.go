package sampler

import (
	"context"
	"testing"
	"time"

	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

// TestLookNowDoesNotWaitForTheNextTry: after a minute without a driver the next
// try is many seconds away; asked now, it is there now.
func TestLookNowDoesNotWaitForTheNextTry(t *testing.T) {
	b := newBox(1)
	b.openErr = nvml.ErrDriverNotLoaded
	s := b.sampler(func(o *Options) { o.Interval = time.Hour }) // no tick but the first and the asked one
	for range 60 {
		b.tick(s)
	}
	if retry := s.Latest().Driver.RetryAt; retry.Sub(b.now) < 2*time.Second {
		t.Fatalf("the next try is due in %v: the test shows nothing", retry.Sub(b.now))
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
		s.LookNow()
	}
	if state := s.Latest().Driver.State; state != snapshot.DriverOK {
		t.Errorf("the driver is %s, though it was looked for", state)
	}
	cancel()
	if err := <-finished; err != nil {
		t.Error(err)
	}
}

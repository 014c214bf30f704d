package probe

import (
	"context"
	"errors"
	"testing"
	"time"

	"vramscope/internal/process"
)

func TestFlushEndsWhenItsSessionPanics(t *testing.T) {
	p := newProbeProcess(process.Identity{PID: 1, StartTime: 1}, 0, time.Now())
	panicked := make(chan any, 1)
	go func() {
		defer func() { panicked <- recover() }()
		s := session{probe: p, interval: time.Hour} // without a client
		_ = s.wait(context.Background())
	}()
	done := make(chan flushed, 1)
	p.jobs <- job{ctx: context.Background(), request: FlushRequest{Level: Urgent}, done: done}
	select {
	case f := <-done:
		if !errors.Is(f.err, errClosed) {
			t.Errorf("the flush ends with %v, want %v", f.err, errClosed)
		}
	case <-time.After(testTimeout):
		t.Error("the flush does not end")
	}
	if <-panicked == nil {
		t.Error("the panic was lost")
	}
}

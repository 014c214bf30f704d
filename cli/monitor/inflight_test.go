package monitor

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

func do(t *testing.T, f *inflight, act func(context.Context)) error {
	_, err := during(f, func(ctx context.Context, _ struct{}) (struct{}, error) {
		act(ctx)
		return struct{}{}, nil
	})(t.Context(), struct{}{})
	return err
}

func TestEndWaitsForActions(t *testing.T) {
	f := newInflight()
	var tidied atomic.Bool
	begun, returned := make(chan struct{}), make(chan error)
	go func() {
		returned <- do(t, f, func(ctx context.Context) {
			close(begun)
			<-ctx.Done()
			time.Sleep(10 * time.Millisecond) // tidying up takes a moment
			tidied.Store(true)
		})
	}()
	<-begun
	f.end(time.Minute)
	if !tidied.Load() {
		t.Error("the end did not wait")
	}
	if err := <-returned; err != nil {
		t.Errorf("the action returns %v", err)
	}
	if err := do(t, f, func(context.Context) { t.Error("an action begins after the end") }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end it returns %v", err)
	}
}

func TestEndWaitsNoLongerThanItsTimeout(t *testing.T) {
	f := newInflight()
	begun, let, returned := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() { returned <- do(t, f, func(context.Context) { close(begun); <-let }) }()
	<-begun
	f.end(time.Millisecond) // returns, or the test never ends
	close(let)
	if err := <-returned; err != nil {
		t.Error(err)
	}
}

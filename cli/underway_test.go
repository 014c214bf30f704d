package cli

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// TestTheEndWaitsForWhatIsUnderWay: it is told to end, and what it does then is
// done before the program is gone. Afterwards nothing begins.
func TestTheEndWaitsForWhatIsUnderWay(t *testing.T) {
	u := newUnderWay()
	var tidied atomic.Bool
	begun, returned := make(chan struct{}), make(chan error)
	go func() {
		returned <- u.do(t.Context(), func(ctx context.Context) {
			close(begun)
			<-ctx.Done()
			time.Sleep(10 * time.Millisecond) // what is to be done takes a moment
			tidied.Store(true)
		})
	}()
	<-begun
	u.end(time.Minute)
	if !tidied.Load() {
		t.Error("the end did not wait")
	}
	if err := <-returned; err != nil {
		t.Errorf("what was done returns %v", err)
	}
	if err := u.do(t.Context(), func(context.Context) { t.Error("something begins after the end") }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end it says %v", err)
	}
}

// TestTheEndDoesNotWaitForEver for what does not hear.
func TestTheEndDoesNotWaitForEver(t *testing.T) {
	u := newUnderWay()
	begun, let, returned := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() { returned <- u.do(t.Context(), func(context.Context) { close(begun); <-let }) }()
	<-begun
	u.end(time.Millisecond) // returns, or the test never ends
	close(let)
	if err := <-returned; err != nil {
		t.Error(err)
	}
}

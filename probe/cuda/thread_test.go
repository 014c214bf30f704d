package cuda

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestOnReturnsBusyBehindHangingCall also checks that the thread continues once the
// call returns.
func TestOnReturnsBusyBehindHangingCall(t *testing.T) {
	thread := newThread()
	release := make(chan struct{})
	begun := make(chan struct{})
	first := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := callOn(ctx, thread, "hang", func() (int, error) { close(begun); <-release; return 1, nil })
		first <- err
	}()
	<-begun

	short, end := context.WithTimeout(t.Context(), time.Millisecond)
	defer end()
	ran := false
	if _, err := callOn(short, thread, "ask", func() (int, error) { ran = true; return 2, nil }); !errors.Is(err, ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call behind a hanging one: %v, want ErrBusy in time", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, ErrBusy) {
		t.Errorf("a cancelled call that hangs: %v, want ErrBusy", err)
	}
	close(release)
	if got, err := callOn(t.Context(), thread, "ask again", func() (int, error) { return 3, nil }); got != 3 || err != nil {
		t.Errorf("after the call returned: %d, %v; want 3", got, err)
	}
	thread.stop()
	if ran {
		t.Error("a call cancelled before it began was made")
	}
	if _, err := callOn(t.Context(), thread, "ask after stop", func() (int, error) { return 4, nil }); !errors.Is(err, errEnded) {
		t.Errorf("a call after stop: %v", err)
	}
}

package cuda

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestHangingCallIsNotWaitedFor: whoever asks meanwhile is answered busy, in
// the time he has, and the thread works on when the call comes back.
func TestHangingCallIsNotWaitedFor(t *testing.T) {
	thread := newThread()
	release := make(chan struct{})
	begun := make(chan struct{})
	first := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := on(ctx, thread, "hang", func() (int, error) { close(begun); <-release; return 1, nil })
		first <- err
	}()
	<-begun

	short, end := context.WithTimeout(t.Context(), time.Millisecond)
	defer end()
	ran := false
	if _, err := on(short, thread, "ask", func() (int, error) { ran = true; return 2, nil }); !errors.Is(err, ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call behind one that hangs: %v, want ErrBusy in time", err)
	}
	cancel()
	if err := <-first; !errors.Is(err, ErrBusy) {
		t.Errorf("giving up a call that hangs: %v, want ErrBusy", err)
	}
	close(release)
	if got, err := on(t.Context(), thread, "ask again", func() (int, error) { return 3, nil }); got != 3 || err != nil {
		t.Errorf("after the call came back: %d, %v; want 3", got, err)
	}
	thread.stop()
	if ran {
		t.Error("a call that was given up before it began was made all the same")
	}
	if _, err := on(t.Context(), thread, "ask the dead", func() (int, error) { return 4, nil }); !errors.Is(err, errEnded) {
		t.Errorf("a call after the end: %v", err)
	}
}

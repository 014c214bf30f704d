package cli

import (
	"context"
	"sync"
	"time"
)

// attachEnd is how long the monitor's end waits for an attach to end in good
// order: that is milliseconds, unless the machine or gdb is very slow.
const attachEnd = 15 * time.Second

// underWay is what must not be cut off in the middle, as gdb in somebody's
// process. Who ends the program tells it to end, and waits.
type underWay struct {
	ctx  context.Context // ends when everything shall
	stop context.CancelFunc

	mu    sync.Mutex // guards ended, and that nothing begins once it is set
	ended bool
	calls sync.WaitGroup
}

func newUnderWay() *underWay {
	u := &underWay{}
	u.ctx, u.stop = context.WithCancel(context.Background())
	return u
}

// do calls f with a context that ends with ctx or with end, and not at all
// after end.
func (u *underWay) do(ctx context.Context, f func(context.Context)) error {
	u.mu.Lock()
	if u.ended {
		u.mu.Unlock()
		return context.Canceled
	}
	u.calls.Add(1)
	u.mu.Unlock()
	defer u.calls.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(u.ctx, cancel)()
	f(ctx)
	return nil
}

// end has everything end that is under way, and returns when it has, or after
// so long.
func (u *underWay) end(patience time.Duration) {
	u.mu.Lock()
	u.ended = true
	u.mu.Unlock()
	u.stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		u.calls.Wait()
	}()
	select {
	case <-done:
	case <-time.After(patience):
	}
}

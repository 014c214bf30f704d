package monitor

import (
	"context"
	"sync"
	"time"

	"vramscope/internal/bounded"
)

// actionTimeout is how long the monitor's end waits for actions, which gdb may slow down.
const actionTimeout = 15 * time.Second

// inflight is the actions under way. The end of the program cancels them and
// waits: gdb is not cut off in a process, and the audit log is complete.
type inflight struct {
	ctx  context.Context // ends when all of them shall
	stop context.CancelFunc

	mu    sync.Mutex // guards ended, and that nothing begins once it is set
	ended bool
	calls sync.WaitGroup
}

func newInflight() *inflight {
	f := &inflight{}
	f.ctx, f.stop = context.WithCancel(context.Background())
	return f
}

// do calls act with a context that ends with ctx or with end; after end it does
// nothing and returns context.Canceled.
func (f *inflight) do(ctx context.Context, act func(context.Context)) error {
	f.mu.Lock()
	if f.ended {
		f.mu.Unlock()
		return context.Canceled
	}
	f.calls.Add(1)
	f.mu.Unlock()
	defer f.calls.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.ctx, cancel)()
	act(ctx)
	return nil
}

// end cancels all actions and waits for them, at most for the timeout.
func (f *inflight) end(timeout time.Duration) {
	f.mu.Lock()
	f.ended = true
	f.mu.Unlock()
	f.stop()
	bounded.Wait(&f.calls, timeout)
}

// during is an action that the program's end waits for.
func during[Request, Result any](f *inflight, run func(context.Context, Request) (Result, error)) func(context.Context, Request) (Result, error) {
	return func(ctx context.Context, r Request) (result Result, err error) {
		if ended := f.do(ctx, func(ctx context.Context) { result, err = run(ctx, r) }); ended != nil {
			return result, ended
		}
		return result, err
	}
}

package cuda

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// thread is a goroutine locked to an OS thread that makes calls one after another.
type thread struct {
	calls chan func()
	ended chan struct{}
}

var errEnded = errors.New("the process is closed")

func newThread() *thread {
	t := &thread{calls: make(chan func()), ended: make(chan struct{})}
	go func() {
		// Never unlocked: the thread ends with the goroutine.
		runtime.LockOSThread()
		for {
			select {
			case call := <-t.calls:
				call()
			case <-t.ended:
				return
			}
		}
	}()
	return t
}

// stop ends the thread after the present call. It is called once.
func (t *thread) stop() { close(t.ended) }

// callOn makes a call on the thread and waits for its result until the context ends; then it returns
// ErrBusy. A call that has not begun by then is not made. One that has begun continues, since
// nothing stops a call in the driver, and its result is dropped.
func callOn[T any](ctx context.Context, t *thread, what string, call func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	work := func() {
		value, err := call()
		answers <- answer{value, err}
	}
	var none T
	if ctx.Err() == nil { // select would choose at random
		select {
		case t.calls <- work:
			select {
			case a := <-answers:
				return a.value, a.err
			case <-ctx.Done():
			}
		case <-t.ended:
			return none, fmt.Errorf("cuda: %s: %w", what, errEnded)
		case <-ctx.Done():
		}
	}
	return none, fmt.Errorf("cuda: %s: %w: %w", what, ErrBusy, ctx.Err())
}

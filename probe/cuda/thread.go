package cuda

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

// thread is a goroutine that is locked to its OS thread and makes calls for
// others, one after the other.
type thread struct {
	calls chan func()
	ended chan struct{}
}

var errEnded = errors.New("the GPU has been let go")

func newThread() *thread {
	t := &thread{calls: make(chan func()), ended: make(chan struct{})}
	go func() {
		// Never unlocked: the thread ends with the goroutine, and with it
		// whatever the driver has bound to it.
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

// stop ends the thread after the call under way. It may be called once.
func (t *thread) stop() { close(t.ended) }

// on makes a call on the thread and waits for its answer as long as the
// context allows, then gives ErrBusy. A call that has not begun by then never
// will. One that has goes on, since nothing can stop a call in the driver, and
// its answer is dropped.
func on[T any](ctx context.Context, t *thread, what string, call func() (T, error)) (T, error) {
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
	if ctx.Err() == nil { // select would choose among what is ready
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

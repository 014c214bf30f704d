package cuda

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
)

// thread is a goroutine that is locked to its OS thread and makes calls for
// others, one after the other.
type thread struct{ calls chan func() }

// newThread starts one; stop ends it after the call under way.
func newThread() *thread {
	t := &thread{calls: make(chan func())}
	go func() {
		// Never unlocked: the thread ends with the goroutine, and with it
		// whatever the driver has bound to it.
		runtime.LockOSThread()
		for call := range t.calls {
			call()
		}
	}()
	return t
}

// stop may be called once, by the one who started it, when nobody calls on.
func (t *thread) stop() { close(t.calls) }

// on makes a call on the thread and waits for its answer as long as the
// context allows, then gives ErrBusy. A call that has begun goes on all the
// same (nothing can stop one in the driver), and its answer is dropped; one
// that has not begun never will.
func on[T any](ctx context.Context, t *thread, what string, call func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	var given atomic.Bool // to the thread, or given up
	work := func() {
		if given.Swap(true) {
			return
		}
		value, err := call()
		answers <- answer{value, err}
	}
	var none T
	late := func() (T, error) {
		return none, fmt.Errorf("cuda: %s: %w: %w", what, ErrBusy, ctx.Err())
	}
	select {
	case t.calls <- work:
	case <-ctx.Done():
		return late()
	}
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		given.Store(true)
		return late()
	}
}

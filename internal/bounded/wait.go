package bounded

import (
	"context"
	"sync"
	"time"
)

// Sleep sleeps until the context ends, at most for d.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Wait waits for goroutines, and reports whether they ended within the timeout.
func Wait(running *sync.WaitGroup, timeout time.Duration) bool {
	ended := make(chan struct{})
	go func() {
		running.Wait()
		close(ended)
	}()
	return Ended(ended, timeout)
}

// Ended waits until a channel is closed or has a value. After the timeout it returns false.
func Ended[T any](ended <-chan T, timeout time.Duration) bool {
	select {
	case <-ended:
		return true
	case <-time.After(timeout):
		return false
	}
}

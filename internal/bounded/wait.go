package bounded

import (
	"sync"
	"time"
)

// Wait waits for goroutines, and reports whether they ended within the timeout.
func Wait(running *sync.WaitGroup, timeout time.Duration) bool {
	ended := make(chan struct{})
	go func() {
		running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-time.After(timeout):
		return false
	}
}

package cli

import (
	"os"
	"runtime"
)

// onOneProcessor has goroutines run on one processor, until the returned function is
// called; GOMAXPROCS in the environment comes first. A monitor waits nearly all the
// time. Each goroutine that hands over to another would wake a second processor for
// it, which costs more than what they do: a fifth of the monitor's processor time,
// nine of ten futex calls, and on a machine with 128 cores as many allocation caches
// and garbage collectors. Calls of the driver and of the kernel that take long have
// threads of their own all the same.
func onOneProcessor() (restore func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	before := runtime.GOMAXPROCS(1)
	return func() { runtime.GOMAXPROCS(before) }
}

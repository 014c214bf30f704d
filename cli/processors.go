package cli

import (
	"os"
	"runtime"
)

// quickProcessors are those of a monitor's first sample.
const quickProcessors = 2

// quickStart has a monitor take its first sample on two processors, of however many there
// are, until stayLight; GOMAXPROCS in the environment comes first. A demo collects its
// garbage as always: what stays of its past would be spread over 6 MB more.
func (p *program) quickStart() (restore func()) {
	if !p.flags.demo {
		collectLate()
	}
	return onProcessors(quickProcessors)
}

// stayLight prepares the process to run for hours, until the returned function is
// called. It comes first: a collection of garbage on all of 128 processors starts 128
// goroutines and 32 threads, which stay.
func (p *program) stayLight() (restore func()) {
	onAll := onProcessors(1)
	collected := p.collectGarbage()
	return func() { collected(); onAll() }
}

// onProcessors has goroutines run on at most n processors, until the returned function is
// called; GOMAXPROCS in the environment comes first. A monitor has one: it waits nearly all
// the time. Each goroutine that hands over to another would wake a second processor for
// it, which costs more than what they do: a fifth of the monitor's processor time, and
// nine of ten futex calls. Calls of the driver and of the kernel that take long have
// threads of their own all the same.
func onProcessors(n int) (restore func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	before := runtime.GOMAXPROCS(min(n, runtime.GOMAXPROCS(0)))
	return func() { runtime.GOMAXPROCS(before) }
}

package command

import (
	"os"
	"runtime"
	"runtime/debug"
)

// quickProcessors are those of a monitor's first sample.
const quickProcessors = 2

// QuickStart has a monitor take its first sample on two processors, of however many there
// are, until StayLight; GOMAXPROCS in the environment comes first. A demo collects its
// garbage as always: what stays of its past would be spread over 6 MB more.
func (p *Program) QuickStart() (restore func()) {
	if !p.Flags.Demo {
		CollectLate()
	}
	return onProcessors(quickProcessors)
}

// StayLight prepares the process to run for hours, until the returned function is
// called. It comes first: a collection of garbage on all of 128 processors starts 128
// goroutines and 32 threads, which stay.
func (p *Program) StayLight() (restore func()) {
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

// lookGCPercent has a command that samples once, and a monitor's first sample, collect the
// first garbage at 32 MB in place of 4: most end before.
const lookGCPercent = 800

// CollectLate has garbage collected late; GOGC in the environment comes first.
func CollectLate() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(lookGCPercent)
	}
}

// collectGarbage sets how often garbage is collected in a program that stays open,
// until the returned function is called; GOGC in the environment comes first. Most of
// the heap stays: collecting it three times as often as Go does saves a fifth of the
// memory, and costs .05 % of a core with a thousand processes. But a small heap, of a
// box with few processes, would be collected every three seconds, a sixth of the
// monitor's processor time. So it has a part that is never touched, and takes no memory:
// the collector lets garbage grow to a third of it more.
func (p *Program) collectGarbage() (end func()) {
	if p.Getenv("GOGC") != "" {
		return func() {}
	}
	debug.SetGCPercent(35)
	const untouchedSize = 2 << 20
	untouched := make([]byte, untouchedSize)
	return func() { runtime.KeepAlive(untouched) }
}

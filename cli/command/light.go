package command

import (
	"os"
	"runtime"
	"runtime/debug"
)

// quickProcessors is the number of processors for a monitor's first sample.
const quickProcessors = 2

// QuickStart makes goroutines run on at most quickProcessors, until restore is called. It also delays
// the first garbage collection, except in a demo, where the delay would cost 6 MB.
func (p *Program) QuickStart() (restore func()) {
	if !p.Flags.Demo {
		CollectLate()
	}
	return onProcessors(quickProcessors)
}

// StayLight prepares the process to run for hours, until restore is called. It must be called before
// the first garbage collection, which on 128 processors starts 128 goroutines and 32 threads that stay.
func (p *Program) StayLight() (restore func()) {
	onAll := onProcessors(1)
	collected := p.collectGarbage()
	return func() { collected(); onAll() }
}

// onProcessors makes goroutines run on at most n processors, until restore is called; GOMAXPROCS in
// the environment takes precedence. On one processor a monitor saves a fifth of its processor time,
// because no hand-over wakes a second processor. Calls that block have threads of their own anyway.
func onProcessors(n int) (restore func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	before := runtime.GOMAXPROCS(min(n, runtime.GOMAXPROCS(0)))
	return func() { runtime.GOMAXPROCS(before) }
}

// lookGCPercent delays the first garbage collection from a heap of 4 MB to one of 32 MB, which most
// commands that sample once, and a monitor's first sample, do not reach.
const lookGCPercent = 800

// CollectLate makes garbage collection start late; GOGC in the environment takes precedence.
func CollectLate() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(lookGCPercent)
	}
}

// collectGarbage makes Go collect garbage three times as often as usual; GOGC in the environment
// takes precedence. That saves a fifth of the memory. An untouched allocation, which takes no memory
// and lives until end is called, keeps a small heap from being collected every three seconds.
func (p *Program) collectGarbage() (end func()) {
	if p.Getenv("GOGC") != "" {
		return func() {}
	}
	debug.SetGCPercent(35)
	const untouchedSize = 2 << 20
	untouched := make([]byte, untouchedSize)
	return func() { runtime.KeepAlive(untouched) }
}

package command

import (
	"os"
	"runtime"
	"runtime/debug"
)

// quickProcessors is the number of processors for a monitor's first sample.
const quickProcessors = 2

// QuickStart makes a monitor take its first sample on at most two processors, until StayLight;
// GOMAXPROCS in the environment takes precedence. A demo collects its garbage as always: otherwise
// the rest of its past would be spread over 6 MB more.
func (p *Program) QuickStart() (restore func()) {
	if !p.Flags.Demo {
		CollectLate()
	}
	return onProcessors(quickProcessors)
}

// StayLight prepares the process to run for hours, until the returned function is called. It must
// be called before the first collection of garbage: one on all of 128 processors starts 128 goroutines and 32
// threads, which stay.
func (p *Program) StayLight() (restore func()) {
	onAll := onProcessors(1)
	collected := p.collectGarbage()
	return func() { collected(); onAll() }
}

// onProcessors makes goroutines run on at most n processors, until the returned function is called;
// GOMAXPROCS in the environment takes precedence. A monitor runs on one: waking a second one at
// each hand-over would take a fifth of its processor time. Long calls have threads of their own all
// the same.
func onProcessors(n int) (restore func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	before := runtime.GOMAXPROCS(min(n, runtime.GOMAXPROCS(0)))
	return func() { runtime.GOMAXPROCS(before) }
}

// lookGCPercent delays the first garbage collection from 4 MB to 32 MB, in a command that samples
// once and in a monitor's first sample. Most of these need less than 32 MB.
const lookGCPercent = 800

// CollectLate makes garbage collection start late; GOGC in the environment takes precedence.
func CollectLate() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(lookGCPercent)
	}
}

// collectGarbage makes Go collect garbage three times as often as usual in a program that stays
// open, until the returned function is called; GOGC in the environment takes precedence. That saves
// a fifth of the memory. An untouched part of the heap, which takes no memory, keeps a small heap
// from being collected every three seconds.
func (p *Program) collectGarbage() (end func()) {
	if p.Getenv("GOGC") != "" {
		return func() {}
	}
	debug.SetGCPercent(35)
	const untouchedSize = 2 << 20
	untouched := make([]byte, untouchedSize)
	return func() { runtime.KeepAlive(untouched) }
}

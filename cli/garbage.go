package cli

import (
	"runtime"
	"runtime/debug"
)

// collectGarbage sets how often garbage is collected in a program that stays open,
// until the returned function is called; GOGC in the environment comes first. Most of
// the heap stays: collecting it twice as often as Go does saves a tenth of the memory.
// But a small heap, of a box with few processes, would be collected every three
// seconds, a sixth of the monitor's processor time. So it has a part that is never
// touched, and takes no memory: the collector lets garbage grow to half of it more.
func (p *program) collectGarbage() (end func()) {
	if p.getenv("GOGC") != "" {
		return func() {}
	}
	debug.SetGCPercent(50)
	const untouchedSize = 4 << 20
	untouched := make([]byte, untouchedSize)
	return func() { runtime.KeepAlive(untouched) }
}

package command

import (
	"runtime"
	"runtime/debug"
)

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

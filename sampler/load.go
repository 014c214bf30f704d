package sampler

import (
	"time"

	"vramscope/forecast"
	"vramscope/internal/quantity"
)

// load detects that a young process loads what it needs: weights, optimizer
// state, workspaces. Forecasts made in the middle of that are wrong by tens of
// gigabytes, and long horizons learn from their errors for longer than many a
// job runs: they would not see a leak that follows. So the forecaster starts
// over when a load ends.
//
// A load is growth by loadRate or more over loadWindow; it ends when the growth
// falls to a quarter of that. A second load counts only where it is twice as
// fast, so that a process that grows and shrinks all the time is still forecast.
type load struct {
	begin   time.Time      // of the window
	from    quantity.Bytes // used then
	fastest float64        // bytes per second
	running bool
	ended   time.Time // when the last one ended
}

const (
	loadWindow  = 10 * time.Second
	loadRate    = 64 << 20 // bytes per second
	loadsWithin = 15 * time.Minute
	// loadRemembered is how long a load shows in its GPU's slope.
	loadRemembered = 2 * time.Minute
)

// fresh reports whether the process loads or has just loaded.
func (l *load) fresh(now time.Time) bool {
	return l.running || !l.ended.IsZero() && now.Sub(l.ended) < loadRemembered
}

// ends takes a sample in and reports whether a load ends with it.
func (l *load) ends(now time.Time, used quantity.Bytes) bool {
	passed := now.Sub(l.begin)
	switch {
	case l.begin.IsZero() || passed < 0:
		l.begin, l.from = now, used
		return false
	case passed < loadWindow:
		return false
	}
	rate := float64(used-l.from) / passed.Seconds()
	l.begin, l.from = now, used
	switch {
	case rate >= max(loadRate, 2*l.fastest):
		l.fastest, l.running = rate, true
	case l.running && rate < l.fastest/4:
		l.running, l.ended = false, now
		return true
	}
	return false
}

// watchLoad starts the row's forecasters over when its process has loaded.
func (r *row) watchLoad(now, started time.Time, used quantity.Bytes) {
	young := func(since time.Time) bool { return !since.IsZero() && now.Sub(since) < loadsWithin }
	if !young(r.came) && !young(started) {
		r.load.running = false
		return
	}
	if r.load.ends(now, used) {
		r.outlook, r.allocated = outlook{forecaster: forecast.New()}, outlook{}
	}
}

package sampler

import (
	"time"

	"vramscope/forecast"
	"vramscope/internal/quantity"
)

// load watches a young process fill its memory: it reads its weights, makes its
// optimizer's state, warms its allocator up. What a forecaster has claimed in
// the middle of that, "like this for a quarter of an hour", is wrong by tens of
// gigabytes, and long horizons remember it for longer than many a job lives: a
// leak that follows would not be believed. So when a load is over the forecaster
// begins anew.
//
// A load is growth by loadRate or more over loadWindow; it is over when that
// falls to a quarter. Another one counts only where it is twice as fast, so that
// a process that goes up and down all the time is forecast all the same.
type load struct {
	begin   time.Time      // of the window
	from    quantity.Bytes // used then
	fastest float64        // bytes per second
	running bool
	ended   time.Time // when the last one was over
}

const (
	loadWindow  = 10 * time.Second
	loadRate    = 64 << 20 // bytes per second
	loadsWithin = 15 * time.Minute
	// loadRemembered is how long the slope of a load is still seen in its GPU's.
	loadRemembered = 2 * time.Minute
)

// fresh reports whether the process loads, or has just done so.
func (l *load) fresh(now time.Time) bool {
	return l.running || !l.ended.IsZero() && now.Sub(l.ended) < loadRemembered
}

// over takes what is used, and reports whether a load has come to its end.
func (l *load) over(now time.Time, used quantity.Bytes) bool {
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

// watchLoad has the row's forecasters begin anew when its process has loaded
// what it needs.
func (r *row) watchLoad(now, started time.Time, used quantity.Bytes) {
	young := func(since time.Time) bool { return !since.IsZero() && now.Sub(since) < loadsWithin }
	if !young(r.came) && !young(started) {
		r.load.running = false
		return
	}
	if r.load.over(now, used) {
		r.outlook, r.allocated = outlook{forecaster: forecast.New()}, outlook{}
	}
}

package sampler

import (
	"time"

	"vramscope/internal/quantity"
)

// load is how a process begins: it reads what it needs (weights, optimizer state,
// workspaces) up to its first plateau, and no later growth is a load. Until then the
// process is expected to stay as it is and raises no alarm, because how far a load
// goes is unknown; and its forecaster starts over, because long horizons remember
// claims that are wrong by tens of gigabytes for longer than many a job runs.
//
// A plateau is a minute and a half in which memory grows more slowly than by loadRate.
type load struct {
	begin time.Time      // of the window; zero before the first sample
	from  quantity.Bytes // used then
	quiet int            // windows in a row
	over  bool
	ended time.Time
}

const (
	loadWindow  = 10 * time.Second
	loadRate    = 64 << 20 // bytes per second
	loadsWithin = 15 * time.Minute
	plateau     = 9 // windows: shards of weights come closer together
)

// fresh reports whether the process loads, or has loaded so lately that its GPU's own
// forecaster still takes the load for growth.
func (l *load) fresh(now time.Time) bool {
	return !l.over || !l.ended.IsZero() && now.Sub(l.ended) < stepRemembered
}

// watch takes a sample in and reports whether memory has grown as in a load since
// the last window.
func (l *load) watch(now time.Time, used quantity.Bytes) (grew bool) {
	passed := now.Sub(l.begin)
	switch {
	case l.begin.IsZero() || passed < 0:
		l.begin, l.from = now, used
		return false
	case passed < loadWindow:
		return false
	}
	grew = float64(used-l.from) >= loadRate*passed.Seconds()
	l.begin, l.from = now, used
	if grew {
		l.quiet = 0
		return true
	}
	if l.quiet++; l.quiet == plateau {
		l.over, l.ended = true, now
	}
	return false
}

// watchLoad starts the row's forecasters over for as long as its process loads.
func (r *row) watchLoad(now, started time.Time, used quantity.Bytes) {
	young := func(since time.Time) bool { return !since.IsZero() && now.Sub(since) < loadsWithin }
	switch {
	case r.load.over:
	case !young(r.came) && !young(started):
		r.load.over = true
	case r.load.watch(now, used):
		r.outlook, r.allocated = outlook{}, outlook{}
	}
}

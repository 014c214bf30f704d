package sampler

import (
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// load follows a process that loads its data (weights, optimizer state, caches). How far a load goes is
// unknown, so the time to full is not believed during a load, with one exception in later loads.
//
// The first load is that of a process that is young, has nearly no memory, or rebuilds after an
// out-of-memory error. It ends at a plateau: a minute and a half in which memory grows more slowly than
// loadRate. Until then the forecaster is reset again and again, because long horizons would remember
// errors of tens of gigabytes for longer than many jobs run. The first load also ends after a rise of
// five minutes, and with the program's training steps, because the first steps take all the memory that
// a step needs. While a process rebuilds, training steps do not end its load.
//
// A later load is a rise that begins when its process is not expected to fill the GPU. It counts as a
// load until it has lasted longer than earlier loads of the same program. The exception: a time to full
// under a minute is believed, unless the rise leads back to a level at which an earlier rise ended.
type load struct {
	begin time.Time      // when the window began; zero before the first sample
	from  quantity.Bytes // memory used at begin
	quiet int            // windows in a row in which memory grew more slowly than loadRate

	over     bool // the first load has ended
	rebuilds bool // the load follows an out-of-memory error
	ended    time.Time

	rose time.Time      // when the present rise began; zero if there is none
	grew time.Time      // when memory last grew at loadRate in the present rise
	used quantity.Bytes // memory used now
	free quantity.Bytes // free memory on its GPU or MIG instance
	top  quantity.Bytes // the highest level at which a rise has ended; it shrinks by fading

	steps  int64          // training steps at begin
	counts int            // windows in a row with steps
	like   *time.Duration // how long the longest earlier rise of the program took; nil: unknown; shared through habits

	peaks
}

// peaks holds the levels from which a process freed most of its memory. The next rise is expected
// to exceed the highest peak by at most the difference between the highest and the lowest peak. If
// a rise exceeds that, no limit is expected.
type peaks struct {
	now  quantity.Bytes   // the highest use since the process last freed most of its memory
	past []quantity.Bytes // the last few peaks, oldest first
}

const (
	freed    = 4 // a process that uses less than 1/freed of its peak has freed most of it
	maxPeaks = 8
)

func (p *peaks) watch(used quantity.Bytes) {
	if p.now >= nearlyNothing && used < p.now/freed {
		p.past = append(p.past, p.now)
		p.past = p.past[max(len(p.past)-maxPeaks, 0):]
		p.now = 0
	}
	p.now = max(p.now, used)
}

// room returns the most by which the process is expected to grow; 0 means unknown.
func (p *peaks) room(used quantity.Bytes) quantity.Bytes {
	if len(p.past) == 0 {
		return 0
	}
	highest := slices.Max(p.past)
	return max(highest+highest-slices.Min(p.past)-used, 0)
}

const (
	loadWindow  = 10 * time.Second
	loadRate    = 64 << 20 // bytes per second
	loadsWithin = 15 * time.Minute
	plateau     = 9 // windows; pauses between shards of weights are shorter

	nearlyNothing = 3 * quantity.GiB // a context, its libraries, and the variables of a notebook
	firstLoad     = 5 * time.Minute  // in this time a slow disk reads the weights for a whole GPU
	laterLoad     = time.Minute      // a later load may take at least this long
	longer        = 1.25             // a load may take this many times as long as the longest similar rise
	fading        = 0.8              // with each rise, the remembered level and duration shrink by this factor, because programs change
	urgent        = time.Minute      // time to full below which a forecast is believed during a later load
	training      = 2                // windows with steps; the first window may contain only the first steps
)

// loads reports whether the first load is in progress. A process that has nearly no memory and does
// not grow has not begun to load; its forecast is like that of any other process.
func (l *load) loads() bool {
	return !l.over && (l.used >= nearlyNothing || !l.rose.IsZero() || l.rebuilds)
}

// known reports whether the first load is over, and the free memory suffices to get back to a level at
// which a rise ended.
func (l *load) known() bool { return l.over && l.used <= l.top && l.top-l.used <= l.free }

// fresh reports whether the process loads, or ended its first load so recently that the GPU's own
// forecaster still takes the load for growth.
func (l *load) fresh(now time.Time) bool {
	return l.loads() || l.later() || !l.ended.IsZero() && now.Sub(l.ended) < stepRemembered
}

// later reports whether a later load is in progress.
func (l *load) later() bool {
	limit := laterLoad
	if l.like != nil {
		limit = max(limit, time.Duration(longer*float64(*l.like)))
	}
	if l.known() {
		limit = firstLoad
	}
	return l.over && !l.rose.IsZero() && l.grew.Sub(l.rose) < limit
}

// unbelieved reports whether the memory rises because of a load.
func (l *load) unbelieved() bool { return !l.over && !l.rose.IsZero() || l.later() }

// watch takes a sample, with the program's training steps so far. At the end of a window it reports
// whether memory has grown at least at loadRate in the window.
func (l *load) watch(now time.Time, used, free quantity.Bytes, steps int64) (grew bool) {
	l.used, l.free = used, free
	passed := now.Sub(l.begin)
	switch {
	case l.begin.IsZero() || passed < 0:
		l.begin, l.from, l.steps = now, used, steps
		return false
	case passed < loadWindow:
		return false
	}
	grew = float64(used-l.from) >= loadRate*passed.Seconds()
	if grew {
		l.quiet = 0
	} else {
		l.quiet++
	}
	if grew && !l.over && l.rose.IsZero() {
		l.rose = l.begin
	}
	if l.counts++; steps == l.steps {
		l.counts = 0
	}
	l.begin, l.from, l.steps = now, used, steps
	if grew && !l.rose.IsZero() {
		l.grew = now
	}
	ended := l.quiet >= plateau
	switch long := !l.rose.IsZero() && l.grew.Sub(l.rose) >= firstLoad || l.trains() && !l.rebuilds; {
	case !l.over && (ended && (used >= nearlyNothing || l.rebuilds) || long):
		l.over, l.ended, l.rose = true, now, time.Time{}
		if ended {
			l.top = max(l.top, used)
		}
	case ended && !l.rose.IsZero():
		if l.over {
			l.learn()
		}
		l.rose = time.Time{}
	}
	return grew
}

// trains reports whether the program makes training steps.
func (l *load) trains() bool { return l.counts >= training }

func (l *load) learn() {
	l.top = max(l.used, quantity.Bytes(fading*float64(l.top)))
	if lasted := l.grew.Sub(l.rose); l.like != nil && lasted < firstLoad {
		*l.like = max(lasted, time.Duration(fading*float64(*l.like)))
	}
}

// watchLoad takes a sample of a process, and the free memory of its GPU. During the first load it
// may reset the row's forecasters.
func (r *row) watchLoad(now, started time.Time, used, free quantity.Bytes, steps int64) {
	l := &r.load
	young := func(since time.Time) bool { return !since.IsZero() && now.Sub(since) < loadsWithin }
	switch {
	case l.begin.IsZero() && !l.rebuilds:
		l.over = !young(r.came) && !young(started) && used >= nearlyNothing
	case l.over && used < nearlyNothing:
		*l = load{top: l.top, like: l.like, peaks: l.peaks} // the process has freed its memory
	}
	l.peaks.watch(used)
	from := l.begin
	switch grew := l.watch(now, used, free, steps); {
	case l.over && grew && l.rose.IsZero() && !l.trains() && !r.outlook.fills(free):
		l.rose, l.grew = from, now
	case !l.over && (grew && l.counts == 0 || l.rebuilds):
		r.outlook, r.allocated = outlook{}, outlook{}
	}
}

// fills reports whether the series is expected to grow by the free memory.
func (o *outlook) fills(free quantity.Bytes) bool {
	if o.forecaster == nil {
		return false
	}
	_, ok := o.forecaster.FullIn(int64(free))
	return ok
}

// bound limits the forecast to the level that the process is expected to reach.
func (r *row) bound(used, free quantity.Bytes) {
	f := r.outlook.forecaster
	if f == nil {
		return
	}
	f.Bound(0)
	room := r.load.room(used)
	r.held = room > 0 && room < free && r.outlook.fills(free)
	f.Bound(int64(room))
}

type loads struct {
	first, later bool
	known        bool // a later load leads back to a level that its process had before
}

func (s *Sampler) loadsAt(at *region) (all loads) {
	for i := range at.rows {
		if r := s.rows[at.rows[i].ID]; at.holds(&at.rows[i]) && r.load.unbelieved() {
			all.first = all.first || !r.load.over
			all.later = all.later || r.load.over
			all.known = all.known || r.load.known()
		}
	}
	return all
}

// believe returns the time to full, nil during a first load. During a later load, it is nil unless
// the level is new and the time less than urgent.
func (l loads) believe(full *snapshot.FullIn) *snapshot.FullIn {
	if full == nil || l.first || l.later && (l.known || full.Median >= urgent) {
		return nil
	}
	return full
}

// habits remembers how long the rises of each user's programs last.
type habits struct {
	lasted map[habit]*time.Duration
}

type habit struct{ user, program string }

const maxHabits = 256

func habitOf(p *snapshot.Process) habit { return habit{p.User, p.ProgramName()} }

func (h *habits) longest(p *snapshot.Process) *time.Duration {
	key := habitOf(p)
	if key.program == "" {
		return new(time.Duration)
	}
	known := h.lasted[key]
	if known == nil {
		if h.lasted == nil || len(h.lasted) >= maxHabits {
			h.lasted = make(map[habit]*time.Duration) // rows keep their old pointers
		}
		known = new(time.Duration)
		h.lasted[key] = known
	}
	return known
}

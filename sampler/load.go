package sampler

import (
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// load is how a process takes what it needs (weights, optimizer state, caches). A rise out
// of idleness is a load until it has lasted longer than its like: how far it goes is
// unknown, so the forecast is no change, and there is no alert.
//
// The first load begins where a process has nearly nothing, also after it has freed what it
// had, or where it rebuilds after an out-of-memory error. It ends at the first plateau, a
// minute and a half in which memory grows more slowly than by loadRate. Until then
// the forecaster starts over again and again, because long horizons would remember errors of
// tens of gigabytes for longer than many jobs run.
//
// A later load is a rise of a process that was not expected to fill its GPU. Its like are
// the earlier ones of the same command. It is believed sooner where less than a minute is
// left, but not below the level at which an earlier load of the same process ended.
type load struct {
	begin time.Time      // of the window; zero before the first sample
	from  quantity.Bytes // used then
	quiet int            // windows in a row

	over     bool // the first load
	rebuilds bool // it is after an out-of-memory error
	ended    time.Time

	rose time.Time      // when the present rise began; zero: there is none
	grew time.Time      // when it was last seen to go on
	used quantity.Bytes // now
	free quantity.Bytes // beside it, on its GPU or MIG instance
	top  quantity.Bytes // the highest level at which a rise has ended
	like *time.Duration // the longest of the command's earlier rises; nil: unknown

	peaks
}

// peaks are how high a process has risen before it freed most of what it had. The next rise
// is not expected to go further above the highest than that is above the lowest; once it
// has, anything may come.
type peaks struct {
	now  quantity.Bytes   // the highest use since it freed
	past []quantity.Bytes // the last of them, oldest first
}

const (
	freed    = 4 // a process that uses this part of its peak has freed most of it
	maxPeaks = 8
)

func (p *peaks) watch(used quantity.Bytes) {
	if p.now >= nothing && used < p.now/freed {
		p.past = append(p.past, p.now)
		p.past = p.past[max(len(p.past)-maxPeaks, 0):]
		p.now = 0
	}
	p.now = max(p.now, used)
}

// room is by how much the process will grow at most.
func (p *peaks) room(used quantity.Bytes) (room quantity.Bytes, known bool) {
	if len(p.past) == 0 {
		return 0, false
	}
	highest := slices.Max(p.past)
	room = highest + highest - slices.Min(p.past) - used
	return room, room > 0
}

const (
	loadWindow  = 10 * time.Second
	loadRate    = 64 << 20 // bytes per second
	loadsWithin = 15 * time.Minute
	plateau     = 9 // windows: shards of weights come closer together

	nothing   = 3 * quantity.GiB // a context, its libraries, and what a notebook keeps
	firstLoad = 5 * time.Minute  // a slow disk reads the weights of a whole GPU
	laterLoad = time.Minute      // where no earlier one is known
	longer    = 1.25             // times the like
	fading    = 0.8              // of what is remembered, with each rise: programs change
	urgent    = time.Minute      // to full
)

// rebuild says that the process has run out of memory: it begins again.
func (l *load) rebuild() { *l = load{rebuilds: true, top: l.top, like: l.like, peaks: l.peaks} }

// loads reports whether the first load goes on. A process that has nearly nothing and does
// not rise only waits: its forecaster is asked as any other.
func (l *load) loads() bool { return !l.over && (l.used >= nothing || !l.rose.IsZero() || l.rebuilds) }

// known reports whether a later rise is to where the process has been before, and that fits:
// others may have taken the memory since.
func (l *load) known() bool { return l.over && l.used <= l.top && l.top-l.used <= l.free }

// fresh reports whether the process loads, or has loaded so lately that its GPU's own
// forecaster still takes the load for growth.
func (l *load) fresh(now time.Time) bool {
	return l.loads() || l.later() || !l.ended.IsZero() && now.Sub(l.ended) < stepRemembered
}

// later reports whether a later load goes on.
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

// unbelieved reports whether the memory rises by a load.
func (l *load) unbelieved() bool { return !l.over && !l.rose.IsZero() || l.later() }

// watch takes a sample in and reports whether memory has grown as in a load since
// the last window.
func (l *load) watch(now time.Time, used, free quantity.Bytes) (grew bool) {
	l.used, l.free = used, free
	passed := now.Sub(l.begin)
	switch {
	case l.begin.IsZero() || passed < 0:
		l.begin, l.from = now, used
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
	l.begin, l.from = now, used
	if grew && !l.rose.IsZero() {
		l.grew = now
	}
	ended := l.quiet >= plateau
	switch long := !l.rose.IsZero() && l.grew.Sub(l.rose) >= firstLoad; {
	case !l.over && (ended && (used >= nothing || l.rebuilds) || long):
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

// learn remembers a later load that has ended.
func (l *load) learn() {
	l.top = max(l.used, quantity.Bytes(fading*float64(l.top)))
	if lasted := l.grew.Sub(l.rose); l.like != nil && lasted < firstLoad {
		*l.like = max(lasted, time.Duration(fading*float64(*l.like)))
	}
}

// watchLoad takes a sample in, of a process on a GPU that has so much free. For as long as
// the first load goes on the row's forecasters start over.
func (r *row) watchLoad(now, started time.Time, used, free quantity.Bytes) {
	l := &r.load
	young := func(since time.Time) bool { return !since.IsZero() && now.Sub(since) < loadsWithin }
	switch {
	case l.begin.IsZero() && !l.rebuilds:
		l.over = !young(r.came) && !young(started) && used >= nothing
	case l.over && used < nothing:
		*l = load{top: l.top, like: l.like, peaks: l.peaks} // it has freed what it had
	}
	l.peaks.watch(used)
	from := l.begin
	switch grew := l.watch(now, used, free); {
	case l.over && grew && l.rose.IsZero() && !r.outlook.fills(free):
		l.rose, l.grew = from, now
	case !l.over && (grew || l.rebuilds):
		r.outlook, r.allocated = outlook{}, outlook{}
	}
}

// fills reports whether the series alone is expected to grow by so much.
func (o *outlook) fills(free quantity.Bytes) bool {
	if o.forecaster == nil {
		return false
	}
	_, ok := o.forecaster.FullIn(int64(free))
	return ok
}

// bound holds the forecast below what the process may reach.
func (r *row) bound(used, free quantity.Bytes) {
	f := r.outlook.forecaster
	if f == nil {
		return
	}
	f.Bound(0, false)
	room, known := r.load.room(used)
	r.held = known && room < free && r.outlook.fills(free)
	f.Bound(int64(room), known)
}

// excuse drops the forecasts that a load has made wrong.
func (o *outlook) excuse() {
	if o.forecaster != nil {
		o.forecaster.Excuse()
	}
}

// loads are those on a GPU or instance.
type loads struct {
	first, later bool
	known        bool // a later one is to where its process has been before
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

// believe is the time to full where loads go on: of a first load none, of a later one only
// when little is left.
func (l loads) believe(full *snapshot.FullIn) *snapshot.FullIn {
	if full == nil || l.first || l.later && (l.known || full.Median >= urgent) {
		return nil
	}
	return full
}

// habits are how long the rises of a user's program last.
type habits struct {
	lasted map[habit]*time.Duration
}

type habit struct{ user, program string }

// maxHabits bounds what is remembered: more programs than a box usually runs in a week.
const maxHabits = 256

func (h *habits) of(p *snapshot.Process) *time.Duration {
	key := habit{p.User, p.ProgramName()}
	if key.program == "" {
		return new(time.Duration)
	}
	known := h.lasted[key]
	if known == nil {
		if h.lasted == nil || len(h.lasted) >= maxHabits {
			h.lasted = make(map[habit]*time.Duration) // rows keep what they know
		}
		known = new(time.Duration)
		h.lasted[key] = known
	}
	return known
}

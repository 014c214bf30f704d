package recording

import (
	"slices"
	"sync"
	"time"

	"vramscope/internal/panics"
	"vramscope/sampler/snapshot"
)

// Joined joins a live history and an earlier one. The screen calls Span, Events and Series at every
// frame, so these return at once: a part of the earlier history is unknown until it has been read in
// the background. An earlier history may have a method Away() bool, which reports that it cannot be
// reached for now, for example while a daemon restarts.
type Joined struct {
	whole
	failed func(error) // receives a panic of the background goroutine

	mu      sync.Mutex
	before  snapshot.History // nil until Before
	seam    time.Time        // where the live history begins
	oldest  time.Time
	events  []snapshot.Event // before the seam, newest first
	grids   map[grid][]snapshot.Point
	pending []grid
	reading bool
}

// grid is a series in count buckets of equal width. It ends at the seam if before is 0, otherwise
// that many grid lengths earlier.
type grid struct {
	key    snapshot.SeriesKey
	width  time.Duration
	count  int
	before int
}

// span returns the time that a grid covers. The seam itself belongs to the live history.
func (g grid) span(seam time.Time) (from, to time.Time) {
	length := time.Duration(g.count) * g.width
	end := seam.Add(-time.Duration(g.before) * length)
	return end.Add(-length), end.Add(-1)
}

const (
	// mostGrids limits memory. A box with 16 GPUs of 64 processes each draws 1024 sparklines.
	mostGrids = 4096
	// earlierEvents is the most events that Joined keeps of the earlier history.
	earlierEvents = 5000
)

var _ snapshot.History = (*Joined)(nil)

// Join returns a Joined that has only the live history so far.
func Join(live snapshot.History, failed func(error)) *Joined {
	j := &Joined{failed: failed, grids: make(map[grid][]snapshot.Point)}
	j.whole = whole{live, func() snapshot.History {
		before, _, _ := j.past()
		return before
	}}
	return j
}

// Whole returns the whole history; its methods wait for the earlier part.
func (j *Joined) Whole() snapshot.History { return &j.whole }

// Before puts an earlier history before the live one, which must already have samples. It reads the
// earlier history's span and events, which takes time, and reports whether that history begins
// before the live one.
func (j *Joined) Before(earlier snapshot.History) bool {
	seam, _ := j.live.Span()
	oldest, _ := earlier.Span()
	if seam.IsZero() || oldest.IsZero() || !oldest.Before(seam) {
		return false
	}
	var events []snapshot.Event
	for _, e := range earlier.Events(earlierEvents) {
		if e.Time.Before(seam) {
			events = append(events, e)
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.before, j.seam, j.oldest, j.events = earlier, seam, oldest, events
	return true
}

func (j *Joined) past() (before snapshot.History, seam, oldest time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.before, j.seam, j.oldest
}

func (j *Joined) Span() (oldest, newest time.Time) {
	oldest, newest = j.live.Span()
	if before, _, earliest := j.past(); before != nil {
		oldest = earliest
	}
	return oldest, newest
}

func (j *Joined) Events(limit int) []snapshot.Event {
	events := j.live.Events(limit)
	j.mu.Lock()
	defer j.mu.Unlock()
	older := j.events
	if limit > 0 {
		older = older[:min(len(older), limit-len(events))]
	}
	return append(slices.Clip(events), older...)
}

func (j *Joined) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	points := j.live.Series(key, from, to, buckets)
	before, seam, oldest := j.past()
	if before == nil || buckets <= 0 || !to.After(from) {
		return points
	}
	width := max(to.Sub(from)/time.Duration(buckets), 1)
	for i := range points {
		p := &points[i]
		if p.Time.Before(oldest) {
			continue
		}
		// Find the bucket of the grid that ends in (p.Time − width, p.Time].
		k := 0
		if behind := seam.Sub(p.Time); behind > 0 {
			k = int((behind + width - 1) / width)
		} else if -behind >= width {
			return points
		}
		old := j.grid(grid{key, width, buckets, k / buckets})
		if at := buckets - 1 - k%buckets; at < len(old) && old[at].Known {
			joined := old[at]
			if joined.Time = p.Time; p.Known { // the seam is inside this bucket
				joined.Min, joined.Max, joined.Last = min(joined.Min, p.Min), max(joined.Max, p.Max), p.Last
			}
			*p = joined
		}
	}
	return points
}

// grid returns a part of the earlier history, nil until that part has been read.
func (j *Joined) grid(g grid) []snapshot.Point {
	j.mu.Lock()
	defer j.mu.Unlock()
	points, asked := j.grids[g]
	if asked {
		return points
	}
	if len(j.grids) >= mostGrids {
		clear(j.grids)
	}
	j.grids[g] = nil
	j.pending = append(j.pending, g)
	if !j.reading {
		j.reading = true
		go j.read()
	}
	return nil
}

func (j *Joined) read() {
	defer func() {
		if c := panics.Catch(recover()); c != nil {
			j.failed(c)
		}
	}()
	for {
		j.mu.Lock()
		if len(j.pending) == 0 {
			j.reading = false
			j.mu.Unlock()
			return
		}
		g, before, seam := j.pending[0], j.before, j.seam
		j.pending = j.pending[1:]
		j.mu.Unlock()
		from, to := g.span(seam)
		points := before.Series(g.key, from, to, g.count)
		remote, ok := before.(interface{ Away() bool })
		j.mu.Lock()
		if ok && remote.Away() {
			delete(j.grids, g) // the next frame asks again
		} else {
			j.grids[g] = points
		}
		j.mu.Unlock()
	}
}

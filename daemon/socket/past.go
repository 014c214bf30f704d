package socket

import (
	"context"
	"sync"
	"time"

	"vramscope/sampler/snapshot"
)

// Past is what a daemon remembers, as a snapshot.History: at least what it has seen
// since it began. Of a daemon that goes away, it is unknown from then on.
//
// Series are asked for in blocks at fixed times, which are kept: a screen that is
// drawn each second asks for the newest block alone. A daemon may take answerTime
// for an answer: a screen reads in the background.
type Past struct {
	client func() (*Client, error)

	mu     sync.Mutex
	blocks map[blockKey]*block
	failed time.Time // when the daemon was last asked in vain
	oldest time.Time
	newest time.Time
	asked  time.Time // when these two were
}

var _ snapshot.History = (*Past)(nil)

// NewPast is the past of whichever daemon the reader speaks to.
func NewPast(r *Reader) *Past {
	return &Past{client: r.Client, blocks: make(map[blockKey]*block)}
}

const (
	blockPoints = 256
	mostBlocks  = 256 // 2 MiB
	// A figure of the last seconds may still come: such a block is asked for again.
	freshTime = time.Second
	// A daemon that did not answer is not asked again for a while.
	pastPause = 2 * time.Second
)

// steps are the lengths of a block's points. What is asked for is made of the
// longest that are not longer than its own.
var steps = []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute}

type blockKey struct {
	series snapshot.SeriesKey
	step   time.Duration
	number int64 // from the Unix epoch
}

type block struct {
	points []point
	final  bool // nothing will be added
	at     time.Time
}

// ask asks the daemon, unless it has just failed to answer.
func (p *Past) ask(r *request) (*answer, bool) {
	if time.Since(p.failed) < pastPause {
		return nil, false
	}
	client, _ := p.client()
	if client == nil {
		return nil, false
	}
	a := &answer{}
	if err := client.ask(context.Background(), r, a); err != nil {
		if !refused(err) {
			p.failed = time.Now()
		}
		return nil, false
	}
	return a, true
}

// Away reports whether the daemon does not answer: what it did not answer is not
// known to be unknown.
func (p *Past) Away() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	client, _ := p.client()
	return client == nil || time.Since(p.failed) < pastPause
}

// At implements snapshot.History.
func (p *Past) At(t time.Time) (*snapshot.Snapshot, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, ok := p.ask(&request{Cmd: cmdAt, TimeNS: t.UnixNano()})
	if !ok || a.Snapshot == nil {
		return nil, false
	}
	s := a.Snapshot.Snapshot()
	s.Past = true
	return s, true
}

// Span implements snapshot.History.
func (p *Past) Span() (oldest, newest time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.span()
}

func (p *Past) span() (oldest, newest time.Time) {
	if time.Since(p.asked) >= freshTime {
		if a, ok := p.ask(&request{Cmd: cmdSpan}); ok && a.NewestNS >= a.OldestNS && a.OldestNS > 0 {
			p.oldest, p.newest, p.asked = time.Unix(0, a.OldestNS), time.Unix(0, a.NewestNS), time.Now()
		}
	}
	return p.oldest, p.newest
}

// Events implements snapshot.History.
func (p *Past) Events(limit int) []snapshot.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, ok := p.ask(&request{Cmd: cmdEvents, Limit: limit})
	if !ok {
		return nil
	}
	events := make([]snapshot.Event, len(a.Events))
	for i := range a.Events {
		events[i] = a.Events[i].snapshot()
	}
	return events
}

// Series implements snapshot.History.
func (p *Past) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	out := make([]snapshot.Point, max(buckets, 0))
	if buckets <= 0 || !to.After(from) {
		return out
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	width := to.Sub(from) / time.Duration(buckets)
	step := steps[0]
	for _, s := range steps {
		if s <= width {
			step = s
		}
	}
	for i := range out {
		start := from.Add(to.Sub(from) * time.Duration(i) / time.Duration(buckets))
		out[i] = snapshot.Point{Time: from.Add(to.Sub(from) * time.Duration(i+1) / time.Duration(buckets))}
		p.fill(&out[i], key, step, start)
	}
	return out
}

// fill merges the points that end within a bucket, or the one that it lies in.
func (p *Past) fill(into *snapshot.Point, key snapshot.SeriesKey, step time.Duration, start time.Time) {
	first, last := start.UnixNano()/int64(step), (into.Time.UnixNano()-1)/int64(step)
	if last > first {
		first++ // it began before the bucket, and is the one before's
	}
	for n := first; n <= last; n++ {
		b := p.block(blockKey{key, step, n / blockPoints})
		at := int(n % blockPoints)
		if b == nil || at >= len(b.points) || b.points[at] == nil {
			continue
		}
		v := b.points[at]
		if !into.Known {
			into.Known, into.Min, into.Max = true, v[1], v[2]
		}
		into.Last, into.Min, into.Max = v[0], min(into.Min, v[1]), max(into.Max, v[2])
	}
}

// block is one that is kept, or asks for it; nil where it is not to be had.
func (p *Past) block(key blockKey) *block {
	kept := p.blocks[key]
	if kept != nil && (kept.final || time.Since(kept.at) < freshTime) {
		return kept
	}
	length := int64(key.step) * blockPoints
	from, to := time.Unix(0, key.number*length), time.Unix(0, (key.number+1)*length)
	oldest, newest := p.span()
	if newest.IsZero() || !to.After(oldest) || from.After(newest) {
		return nil
	}
	r := seriesRequest(key.series, from, to, blockPoints)
	a, ok := p.ask(&r)
	if !ok {
		return kept // what was known of it still holds
	}
	if len(p.blocks) >= mostBlocks {
		clear(p.blocks) // what is drawn comes back with the next frame
	}
	b := &block{points: a.Points, final: newest.Sub(to) > freshTime, at: time.Now()}
	p.blocks[key] = b
	return b
}

package socket

import (
	"context"
	"slices"
	"sync"
	"time"

	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// Past is the history of a daemon, which is unknown while the daemon is away. A call may take
// answerTime: a screen reads in the background, and keeps the answers (recording.Joined).
type Past struct {
	client func() (*Client, error)

	mu     sync.Mutex
	failed time.Time // when the daemon was last asked in vain
	oldest time.Time
	newest time.Time
	asked  time.Time // when oldest and newest were read
}

var _ snapshot.History = (*Past)(nil)

// NewPast returns the past of the daemon that the reader is connected to.
func NewPast(r *Reader) *Past {
	return &Past{client: r.Client}
}

const (
	spanTime  = time.Second     // how often the span of the past is asked for
	pastPause = 2 * time.Second // how long a daemon that did not answer is not asked
)

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

// Away reports whether the daemon does not answer: a missing answer does not mean an empty past.
func (p *Past) Away() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	client, _ := p.client()
	return client == nil || time.Since(p.failed) < pastPause
}

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

func (p *Past) Span() (oldest, newest time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.span()
}

func (p *Past) span() (oldest, newest time.Time) {
	if time.Since(p.asked) >= spanTime {
		if a, ok := p.ask(&request{Cmd: cmdSpan}); ok && a.NewestNS >= a.OldestNS && a.OldestNS > 0 {
			p.oldest, p.newest, p.asked = time.Unix(0, a.OldestNS), time.Unix(0, a.NewestNS), time.Now()
		}
	}
	return p.oldest, p.newest
}

func (p *Past) Events(limit int) []snapshot.Event {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, ok := p.ask(&request{Cmd: cmdEvents, Limit: limit})
	if !ok {
		return nil
	}
	return schema.List(a.Events, (*event).snapshot)
}

// Series implements snapshot.History. It asks for at most maxBuckets at a time.
func (p *Past) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	out := snapshot.Points(from, to, buckets)
	if !to.After(from) {
		return out
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	stop := from
	for part := range slices.Chunk(out, maxBuckets) {
		begin := stop
		stop = part[len(part)-1].Time
		oldest, newest := p.span()
		if newest.IsZero() || !stop.After(oldest) || begin.After(newest) {
			continue
		}
		r := seriesRequest(key, begin, stop, len(part))
		a, ok := p.ask(&r)
		if !ok || len(a.Points) != len(part) {
			continue
		}
		for i, v := range a.Points {
			if v != nil {
				part[i].Known, part[i].Last, part[i].Min, part[i].Max = true, v[0], v[1], v[2]
			}
		}
	}
	return out
}

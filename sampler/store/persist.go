package store

import (
	"errors"
	"time"
)

// Saved is a store with its series, for a process that continues this one: gob
// encodes it. What is in it is trusted: it is of the same program.
type Saved struct {
	Layout                   int // of all that follows, and of what is in blocks
	FullSamples, Width, Span int64
	Opened                   int
	Started, Now, Clock      int64 // ns
	FirstTick, FirstBucket   int64
	Ticks, Buckets           []int64 // their times
	Series                   []SavedSeries
}

// SavedSeries is a series.
type SavedSeries struct {
	Closed        bool
	Start, Cursor int64
	Head          *Block // nil where it is sealed
	Full, Buckets []SavedSegment
	Tail          SavedSegment
	Pending       *[4]int64 // ordinal, minimum, maximum, last
}

// SavedSegment is a segment of a chain.
type SavedSegment struct {
	Data              string
	Start             int64
	Blocks, LastFrame int32
}

// layout is the version of Saved and of the codec.
const layout = 2

// ErrVersion is the error of a store that another version has saved.
var ErrVersion = errors.New("it was kept by another version")

// Save is the store with these series, in this order. It belongs to the writer, as
// Begin does; an open tick is committed first. Other series are not saved.
func (s *Store) Save(series []*Series) *Saved {
	s.Commit()
	saved := &Saved{
		Layout: layout, FullSamples: s.fullSamples, Width: s.width, Span: s.span, Opened: s.opened, Started: s.started, Now: s.now,
		FirstTick: s.ticks.base, FirstBucket: s.buckets.base, Ticks: s.ticks.times(), Buckets: s.buckets.times(),
	}
	if !s.ticks.empty() {
		saved.Clock = s.clock.UnixNano()
	}
	for _, r := range series {
		saved.Series = append(saved.Series, r.save())
	}
	return saved
}

func (r *Series) save() SavedSeries {
	st := r.state.Load()
	saved := SavedSeries{
		Closed: r.closed, Start: r.start, Cursor: st.cursor, Full: st.full.save(), Buckets: st.buckets.save(), Tail: st.tail.save(),
	}
	if r.head != nil {
		saved.Head = r.head.save()
	}
	if p := &st.pending; p.known {
		saved.Pending = &[4]int64{p.ordinal, p.value.min, p.value.max, p.value.last}
	}
	return saved
}

func (h *head) save() *Block {
	b := &Block{present: h.mask()}
	for i := range b.values {
		if b.present.has(i) {
			b.values[i] = h.at(i)
		}
	}
	return b
}

func (b *Block) head() *head {
	h := new(head)
	for i, v := range b.values {
		if b.present.has(i) {
			h.set(i, v)
		}
	}
	return h
}

func (c chain) save() []SavedSegment {
	var saved []SavedSegment
	for _, g := range c {
		saved = append(saved, g.save())
	}
	return saved
}

// Load makes a store and its series, in the order of saving. The options must be
// those that it was made with.
func Load(saved *Saved, o Options) (*Store, []*Series, error) {
	s := New(o)
	if saved == nil || saved.Layout != layout || saved.FullSamples != s.fullSamples || saved.Width != s.width || saved.Span != s.span {
		return nil, nil, ErrVersion
	}
	s.opened, s.started, s.now, s.clock = saved.Opened, saved.Started, saved.Now, time.Unix(0, saved.Clock)
	s.ticks, s.buckets = timelineOf(saved.FirstTick, saved.Ticks), timelineOf(saved.FirstBucket, saved.Buckets)
	s.next = s.ticks.end
	s.held.Add(s.ticks.bytes() + s.buckets.bytes())
	if !s.ticks.empty() {
		s.published.Store(s.view())
	}
	var series []*Series
	for i := range saved.Series {
		series = append(series, s.load(&saved.Series[i]))
	}
	return s, series, nil
}

func (s *Store) load(saved *SavedSeries) *Series {
	r := &Series{store: s, closed: saved.Closed, start: saved.Start}
	next := state{start: saved.Start, cursor: saved.Cursor, full: loadChain(saved.Full), buckets: loadChain(saved.Buckets), tail: saved.Tail.load()}
	if b := saved.Head; b != nil {
		r.head = b.head()
		next.head = r.head
	}
	if p := saved.Pending; p != nil {
		next.pending = pending{known: true, ordinal: p[0], value: extent{p[1], p[2], p[3]}}
	}
	r.publish(next)
	if !r.forgotten() {
		phase := r.start & (blockTicks - 1)
		s.members[phase] = append(s.members[phase], r)
	}
	return r
}

func (g *segment) save() SavedSegment { return SavedSegment{g.data, g.start, g.blocks, g.lastFrame} }

func (g *SavedSegment) load() segment { return segment{g.Data, g.Start, g.Blocks, g.LastFrame} }

func loadChain(saved []SavedSegment) chain {
	var c chain
	for _, g := range saved {
		c = append(c, g.load())
	}
	return c
}

// times are the moments.
func (l *timeline) times() []int64 {
	var all []int64
	for ordinal := l.base; ordinal < l.end; ordinal++ {
		all = append(all, l.at(ordinal))
	}
	return all
}

func timelineOf(base int64, times []int64) timeline {
	l := timeline{base: base, end: base}
	for _, t := range times {
		l.append(t)
	}
	return l
}

// GobEncode encodes the block in the codec of the store.
func (b *Block) GobEncode() ([]byte, error) { return b.Append(nil), nil }

var errBlock = errors.New("store: a block is damaged")

// GobDecode decodes it.
func (b *Block) GobDecode(data []byte) error {
	if !b.Decode(data) {
		return errBlock
	}
	return nil
}

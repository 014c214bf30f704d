package store

import (
	"sync/atomic"
)

// Series is one time series.
type Series struct {
	store *Store
	state atomic.Pointer[state]

	// The rest belongs to the writer.
	head    *head // nil once the series is closed and sealed
	start   int64 // ordinal of the head's first place
	closed  bool
	dropped bool
}

// state is the content of a series: the ticks before cursor as buckets, those from
// cursor on in full. It is immutable, except for the head.
type state struct {
	head   *head
	start  int64
	full   chain
	cursor int64

	buckets chain
	tail    segment // the newest block of buckets, not full yet; no data: none
	pending pending
}

// pending is the bucket that the next tick at cursor may belong to.
type pending struct {
	known   bool
	ordinal int64
	value   extent
}

// extent is what a bucket keeps of its samples.
type extent struct{ min, max, last int64 }

// scratch is the writer's scratch memory.
type scratch struct {
	values  [blockTicks]int64
	payload []byte
	segment []byte
	done    []pending
	tail    bucketBlock
}

// Open makes a series. Earlier ticks are gaps.
func (s *Store) Open() *Series {
	phase := int64(s.opened % blockTicks)
	s.opened++
	r := &Series{store: s, head: new(head)}
	r.start = s.next - (s.next-phase+blockTicks)%blockTicks
	s.members[phase] = append(s.members[phase], r)
	r.state.Store(&state{head: r.head, start: r.start, cursor: r.start})
	return r
}

// Append sets the series' value at the open tick. Outside a tick and on a closed
// series it does nothing; a second value at a tick replaces the first.
func (r *Series) Append(v int64) {
	if s := r.store; s.open && !r.closed {
		r.head.set(int(s.next-r.start), v)
	}
}

// Close says that no samples follow. The samples can be read for as long as they
// are retained; then their memory is freed.
func (r *Series) Close() { r.closed = true }

// Drop says that nobody will read a closed series again.
func (r *Series) Drop() { r.dropped = true }

// forgotten reports that nothing of a closed series can be read.
func (r *Series) forgotten() bool { return r.dropped || r.closed && r.state.Load().empty() }

func (st *state) empty() bool {
	return st.head == nil && len(st.full) == 0 && len(st.buckets) == 0 && st.tail.data == "" && !st.pending.known
}

// roll seals the head's block and starts the next, folds the blocks that have left
// the full resolution, and drops those that have left the retention.
func (r *Series) roll() {
	s, next := r.store, *r.state.Load()
	if r.head != nil {
		if m := r.head.mask(); m != (mask{}) {
			values := r.head.collect(&m, &s.work.values)
			payload, kind := appendPayload(s.work.payload[:0], &m, blockTicks, values)
			s.work.payload = payload
			next.full = next.full.push(r.start, blockTicks, frame{kind, 1, string(payload)}, s.work.segment)
		}
		r.head = nil
	}
	if !r.closed {
		r.head = new(head)
	}
	r.start += blockTicks
	next.head, next.start = r.head, r.start
	for next.cursor+blockTicks <= s.next-s.fullSamples {
		next.fold(s)
		next.cursor += blockTicks
	}
	next.full = next.full.forget(next.cursor, blockTicks)
	first := s.published.Load().firstBucket
	next.buckets = next.buckets.forget(first, blockBuckets)
	if next.tail.start+blockBuckets <= first {
		next.tail = segment{}
	}
	if next.pending.ordinal < first {
		next.pending = pending{}
	}
	r.state.Store(&next)
}

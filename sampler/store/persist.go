package store

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"time"
)

// A store can be saved and loaded by another process. Sealed blocks are written as
// they are, at little more than the cost of a copy.
//
//	Save → section(payload) → Load
//	payload = sizes clock ticks buckets series*
//
// The loaded store answers every read as the original, and its next tick follows
// the last one that was saved.

// The section of a store, and the version of its payload's layout. Everything
// in blocks, columns and buckets belongs to the layout.
const (
	storeKind    = "stor"
	storeVersion = 1
)

// Save writes the store with these series, in this order. It belongs to the
// writer, as Begin does; an open tick is committed first. Other series are not
// saved.
func (s *Store) Save(w io.Writer, series []*Series) error {
	s.Commit()
	p := binary.AppendUvarint(nil, uint64(s.fullSamples))
	p = binary.AppendUvarint(p, uint64(s.width))
	p = binary.AppendUvarint(p, uint64(s.span))
	p = binary.AppendUvarint(p, uint64(s.opened))
	p = binary.AppendVarint(p, s.started)
	p = binary.AppendVarint(p, s.now)
	wall := int64(0)
	if !s.ticks.empty() {
		wall = s.clock.UnixNano()
	}
	p = binary.AppendVarint(p, wall)
	p = s.ticks.appendTo(p)
	p = s.buckets.appendTo(p)
	p = binary.AppendUvarint(p, uint64(len(series)))
	for i, r := range series {
		if r.store != s {
			return fmt.Errorf("store: save: series %d is of another store", i)
		}
		p = r.appendTo(p)
	}
	if err := WriteSection(w, storeKind, storeVersion, p); err != nil {
		return fmt.Errorf("store: save: %w", err)
	}
	return nil
}

// Load reads a store and its series, in the order of saving. The options must be
// those that it was made with. It fails with ErrVersion, ErrDamaged, or the
// reader's error; it never returns a store that cannot be used.
func Load(r io.Reader, o Options) (*Store, []*Series, error) {
	payload, err := ReadSection(r, storeKind, storeVersion)
	if err != nil {
		return nil, nil, fmt.Errorf("store: load: %w", err)
	}
	s := New(o)
	series, err := s.load(payload)
	if err != nil {
		return nil, nil, fmt.Errorf("store: load: %w", err)
	}
	return s, series, nil
}

// load fills an empty store. Whatever is in the payload, a store without an error
// can be read and written safely.
func (s *Store) load(payload string) ([]*Series, error) {
	in := input{rest: payload}
	fullSamples, width, span := in.uvarint(), in.uvarint(), in.uvarint()
	if !in.bad && (fullSamples != uint64(s.fullSamples) || width != uint64(s.width) || span != uint64(s.span)) {
		return nil, fmt.Errorf("%w, in other sizes", ErrVersion)
	}
	s.opened = int(in.below(1 << 31))
	s.started, s.now = in.varint(), in.varint()
	s.clock = time.Unix(0, in.varint())
	s.ticks = in.timeline()
	s.buckets = in.timeline()
	s.next = s.ticks.end
	if in.bad || !s.sound() {
		return nil, ErrDamaged
	}
	s.held.Add(s.ticks.bytes() + s.buckets.bytes())
	if !s.ticks.empty() {
		s.published.Store(s.view())
	}
	n := in.below(uint64(len(in.rest)) + 1)
	series := make([]*Series, 0, min(n, 1<<12))
	for range n {
		r := s.loadSeries(&in)
		if r == nil {
			return nil, ErrDamaged
		}
		series = append(series, r)
	}
	if in.bad || in.rest != "" {
		return nil, ErrDamaged
	}
	return series, nil
}

// sound checks the invariants of a store's clocks.
func (s *Store) sound() bool {
	if s.ticks.empty() || s.buckets.empty() {
		return s.ticks.empty() && s.buckets.empty() && s.next == 0
	}
	// Any distance between two moments has to fit an int64.
	const most = reach * int64(time.Second)
	shift := s.now - s.clock.UnixNano()
	return s.clock.UnixNano() <= most && s.clock.UnixNano() >= -most && shift <= most/2 && shift >= -most/2 &&
		s.ticks.last() == s.now && s.buckets.last() == floor(s.now, s.width)
}

// input parses a payload. After the first invalid part, bad is set and all values
// are zero.
type input struct {
	rest string
	bad  bool
}

func (in *input) fail() {
	in.rest, in.bad = "", true
}

func (in *input) uvarint() uint64 {
	u, rest, ok := takeUvarint(in.rest)
	if !ok {
		in.fail()
		return 0
	}
	in.rest = rest
	return u
}

func (in *input) varint() int64 { return unzigzag(in.uvarint()) }

// below reads a number that is less than limit.
func (in *input) below(limit uint64) int64 {
	u := in.uvarint()
	if u >= limit {
		in.fail()
		return 0
	}
	return int64(u)
}

// bytes reads a length and so many bytes. They are a copy, so that no block keeps
// the whole payload.
func (in *input) bytes() string {
	n := in.uvarint()
	if n > uint64(len(in.rest)) {
		in.fail()
		return ""
	}
	data := strings.Clone(in.rest[:n])
	in.rest = in.rest[n:]
	return data
}

// mostOrdinal is more ticks than ever occur, and small enough that ordinals can be
// added.
const mostOrdinal = 1 << 48

// appendTo writes the moments as their distances.
func (l *timeline) appendTo(p []byte) []byte {
	p = binary.AppendUvarint(p, uint64(l.base))
	p = binary.AppendUvarint(p, uint64(l.end-l.base))
	for ordinal := l.base; ordinal < l.end; ordinal++ {
		if ordinal == l.base {
			p = binary.AppendVarint(p, l.at(ordinal))
		} else {
			p = binary.AppendUvarint(p, uint64(l.at(ordinal)-l.at(ordinal-1)))
		}
	}
	return p
}

func (in *input) timeline() timeline {
	l := timeline{base: in.below(mostOrdinal)}
	l.end = l.base
	n := in.below(uint64(len(in.rest)) + 1)
	t := int64(0)
	for i := range n {
		before := t
		if i == 0 {
			t = in.varint()
		} else if t += int64(in.uvarint()); t <= before {
			in.fail()
		}
		if in.bad {
			return timeline{}
		}
		l.append(t)
	}
	return l
}

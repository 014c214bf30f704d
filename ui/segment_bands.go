package ui

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// A map of segments answers one question: why does a flush not give back more?
// The driver takes a segment back whole or not at all, so segments are told
// apart by what a flush does with them, and within that by their size:
//
//	in use    nothing in it is stuck
//	stuck     free memory beside live blocks: it has to stay
//	private   free, and kept for a CUDA graph
//	cached    no live block in it: all of it goes back
type fate uint8

// The fates, in the order of a bar: what a flush frees comes last.
const (
	fateInUse fate = iota
	fateStuck
	fatePrivate
	fateCached
	fates
)

func (f fate) String() string {
	return [fates]string{"in use", "stuck", "private", "cached"}[f]
}

// blockSums are amounts by snapshot.BlockState.
type blockSums [4]quantity.Bytes

func (b *blockSums) add(other blockSums) {
	for i := range b {
		b[i] += other[i]
	}
}

func (b blockSums) total() quantity.Bytes {
	return b[snapshot.BlockLive] + b[snapshot.BlockPending] + b[snapshot.BlockCached] + b[snapshot.BlockFragmented]
}

// held is what is not free.
func (b blockSums) held() quantity.Bytes {
	return b[snapshot.BlockLive] + b[snapshot.BlockPending]
}

// segment is one segment and what its blocks are together.
type segment struct {
	snapshot.Segment
	sums blockSums
	fate fate
}

// segmentBand is the segments of one fate, or of one fate and like size.
type segmentBand struct {
	fate     fate
	least    quantity.Bytes // of their sizes
	most     quantity.Bytes
	sums     blockSums
	segments []*segment
}

// segmentMap is a SegmentMap, sorted: made once, when it arrives.
type segmentMap struct {
	taken    time.Time
	left     int // segments that are not in it
	count    int
	sums     blockSums
	byFate   []segmentBand // largest segments first
	bySize   []segmentBand
	whole    quantity.Bytes // in segments that are all free
	keepers  int            // segments that keep half of what is stuck …
	kept     quantity.Bytes // … so much of it …
	keptFor  quantity.Bytes // … for so little that is held
	expanded bool           // some are expandable
}

// newSegmentMap sorts what a probe has told. Figures that make no sense, it
// may be a hostile probe, are left out.
func newSegmentMap(told snapshot.SegmentMap) *segmentMap {
	m := &segmentMap{taken: told.Time, left: max(told.Left, 0)}
	var all []*segment
	for i := range told.Segments {
		s := &segment{Segment: told.Segments[i]}
		s.Blocks = slices.DeleteFunc(slices.Clone(s.Blocks), func(b snapshot.Block) bool {
			return int(b.State) >= len(s.sums) || b.Size <= 0 || b.Size > mapMost
		})
		for _, b := range s.Blocks {
			s.sums[b.State] += b.Size
		}
		if total := s.sums.total(); total <= 0 || total > mapMost-m.sums.total() {
			continue
		}
		s.fate = fateOf(s)
		all = append(all, s)
		m.count++
		m.sums.add(s.sums)
		m.expanded = m.expanded || s.Expandable
		if s.fate == fateCached {
			m.whole += s.sums.total()
		}
	}
	m.byFate = bandsOf(all, func(*segment) int { return 0 })
	m.bySize = bandsOf(all, func(s *segment) int { return -bits.Len64(uint64(s.sums.total())) })
	m.blame()
	return m
}

// mapMost is more than any GPU has.
const mapMost = 1 << 46

func fateOf(s *segment) fate {
	stuck, cached := s.sums[snapshot.BlockFragmented], s.sums[snapshot.BlockCached]
	switch {
	case s.Private && stuck+cached > 0:
		return fatePrivate
	case stuck > 0:
		return fateStuck
	case s.sums.held() == 0:
		return fateCached
	default:
		return fateInUse
	}
}

// bandsOf groups segments by fate, and by a class within it, and sorts them:
// what is stuck for least comes first, else the largest.
func bandsOf(all []*segment, class func(*segment) int) []segmentBand {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *segment) int {
		by := cmp.Or(cmp.Compare(a.fate, b.fate), cmp.Compare(class(a), class(b)))
		if by == 0 && a.fate == fateStuck {
			by = cmp.Compare(a.heldShare(), b.heldShare())
		}
		return cmp.Or(by, cmp.Compare(b.sums.total(), a.sums.total()), cmp.Compare(a.Address, b.Address))
	})
	var bands []segmentBand
	for i, s := range sorted {
		if i == 0 || s.fate != sorted[i-1].fate || class(s) != class(sorted[i-1]) {
			bands = append(bands, segmentBand{fate: s.fate, least: s.sums.total()})
		}
		b := &bands[len(bands)-1]
		b.segments = append(b.segments, s)
		b.sums.add(s.sums)
		b.least, b.most = min(b.least, s.sums.total()), max(b.most, s.sums.total())
	}
	return bands
}

// heldShare is how much of a segment is not free, 0 to 1.
func (s *segment) heldShare() float64 { return float64(s.sums.held()) / float64(s.sums.total()) }

// blame finds the segments that keep half of what is stuck for the least that
// is held in them: who wants that memory back has to look there.
func (m *segmentMap) blame() {
	stuck := m.band(fateStuck)
	if stuck == nil {
		return
	}
	half := stuck.sums[snapshot.BlockFragmented] / 2
	for _, s := range stuck.segments { // those that hold least come first
		if m.kept >= half {
			return
		}
		m.keepers++
		m.kept += s.sums[snapshot.BlockFragmented]
		m.keptFor += s.sums.held()
	}
}

// band is all segments of one fate, nil where there are none.
func (m *segmentMap) band(f fate) *segmentBand {
	for i := range m.byFate {
		if m.byFate[i].fate == f {
			return &m.byFate[i]
		}
	}
	return nil
}

// bands are the bands to draw in so many rows: by size too where each of them
// can have a row, and a few rows are left for the larger ones.
func (m *segmentMap) bands(rows int) (bands []segmentBand, sized bool) {
	const spare = 3
	if len(m.bySize)+spare <= rows {
		return m.bySize, true
	}
	return m.byFate, false
}

package segments

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// fate is what a flush does with a segment. It frees a segment whole or, if the segment is expandable, by pages.
//
//	allocated   no free memory in it, or only in whole pages
//	fragmented  free memory beside live blocks: a flush cannot free it
//	private     free memory that is kept for a CUDA graph
//	cached      no live block in it: a flush frees all of it
type fate uint8

// The fates, in the order of a bar: what a flush frees comes last.
const (
	fateAllocated fate = iota
	fateFragmented
	fatePrivate
	fateCached
	fates
)

func (f fate) String() string {
	return [fates]string{"alloc", "frag", "private", "cached"}[f]
}

type blockSums [4]quantity.Bytes

func (b *blockSums) add(other blockSums) {
	for i := range b {
		b[i] += other[i]
	}
}

func (b blockSums) total() quantity.Bytes {
	return b[snapshot.BlockLive] + b[snapshot.BlockPending] + b[snapshot.BlockCached] + b[snapshot.BlockFragmented]
}

// held returns the memory that is not free.
func (b blockSums) held() quantity.Bytes {
	return b[snapshot.BlockLive] + b[snapshot.BlockPending]
}

type segment struct {
	snapshot.Segment
	sums blockSums
	fate fate
}

// band is the segments of one fate, or of one fate and similar size.
type band struct {
	fate     fate
	min      quantity.Bytes // the smallest size of a segment
	max      quantity.Bytes
	sums     blockSums
	segments []*segment
}

type Map struct {
	taken    time.Time
	left     int // segments that were not reported
	count    int
	sums     blockSums
	byFate   []band // see bandsOf
	bySize   []band
	keepers  int            // the number of segments with half of the fragmented memory
	kept     quantity.Bytes // the fragmented memory in these segments
	keptFor  quantity.Bytes // the live blocks in these segments
	expanded bool           // some are expandable
}

// New sorts the reported segments. It drops impossible figures: the probe may be hostile.
func New(reported snapshot.SegmentMap) *Map {
	m := &Map{taken: reported.Time, left: max(reported.Left, 0)}
	var all []*segment
	for i := range reported.Segments {
		s := &segment{Segment: reported.Segments[i]}
		s.Blocks = slices.DeleteFunc(slices.Clone(s.Blocks), func(b snapshot.Block) bool {
			return int(b.State) >= len(s.sums) || b.Size <= 0 || b.Size > maxMapped
		})
		for _, b := range s.Blocks {
			s.sums[b.State] += b.Size
		}
		if total := s.sums.total(); total <= 0 || total > maxMapped-m.sums.total() {
			continue
		}
		s.fate = fateOf(s)
		all = append(all, s)
		m.count++
		m.sums.add(s.sums)
		m.expanded = m.expanded || s.Expandable
	}
	m.byFate = bandsOf(all, func(*segment) int { return 0 })
	m.bySize = bandsOf(all, func(s *segment) int { return -bits.Len64(uint64(s.sums.total())) })
	m.blame()
	return m
}

// maxMapped limits a map's bytes: no GPU has as many.
const maxMapped = 1 << 46

func fateOf(s *segment) fate {
	fragmented, cached := s.sums[snapshot.BlockFragmented], s.sums[snapshot.BlockCached]
	switch {
	case s.Private && fragmented+cached > 0:
		return fatePrivate
	case fragmented > 0:
		return fateFragmented
	case s.sums.held() == 0:
		return fateCached
	default:
		return fateAllocated
	}
}

// bandsOf groups segments by fate, and by a class within each fate. In a band of fragmented segments those with the
// smallest heldShare come first, in other bands the largest segments.
func bandsOf(all []*segment, class func(*segment) int) []band {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b *segment) int {
		by := cmp.Or(cmp.Compare(a.fate, b.fate), cmp.Compare(class(a), class(b)))
		if by == 0 && a.fate == fateFragmented {
			by = cmp.Compare(a.heldShare(), b.heldShare())
		}
		return cmp.Or(by, cmp.Compare(b.sums.total(), a.sums.total()), cmp.Compare(a.Address, b.Address))
	})
	var bands []band
	for i, s := range sorted {
		if i == 0 || s.fate != sorted[i-1].fate || class(s) != class(sorted[i-1]) {
			bands = append(bands, band{fate: s.fate, min: s.sums.total()})
		}
		b := &bands[len(bands)-1]
		b.segments = append(b.segments, s)
		b.sums.add(s.sums)
		b.min, b.max = min(b.min, s.sums.total()), max(b.max, s.sums.total())
	}
	return bands
}

// heldShare returns how much of a segment is not free, 0 to 1.
func (s *segment) heldShare() float64 { return float64(s.sums.held()) / float64(s.sums.total()) }

// blame finds the first segments that keep half of the fragmented memory.
func (m *Map) blame() {
	fragmented := m.ofFate(fateFragmented)
	if fragmented == nil {
		return
	}
	half := fragmented.sums[snapshot.BlockFragmented] / 2
	for _, s := range fragmented.segments { // those with the smallest heldShare come first
		if m.kept >= half {
			return
		}
		m.keepers++
		m.kept += s.sums[snapshot.BlockFragmented]
		m.keptFor += s.sums.held()
	}
}

// ofFate returns all segments of one fate, nil if there are none.
func (m *Map) ofFate(f fate) *band {
	return snapshot.Find(m.byFate, func(b *band) bool { return b.fate == f })
}

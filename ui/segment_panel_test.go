package ui

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/uitest"
)

// mapped is the drawn state with the map of segments in the place of the
// graph.
func mapped(told snapshot.SegmentMap, change func(*segments)) *state {
	st := drawnState()
	st.segments = &segments{row: st.cursor.id, found: newSegmentMap(told)}
	if change != nil {
		change(st.segments)
	}
	return st
}

// expandable is a process whose memory is two segments that grow.
func expandable() snapshot.SegmentMap {
	const gib = quantity.GiB
	return snapshot.SegmentMap{Time: uitest.DrawnAt.Add(-75 * time.Second), Left: 7, Segments: []snapshot.Segment{
		{Size: 40 * gib, Pool: "large", Expandable: true, Blocks: []snapshot.Block{
			{Size: 20 * gib, State: snapshot.BlockLive}, {Size: 6 * gib, State: snapshot.BlockCached}, {Size: 10 * gib, State: snapshot.BlockLive},
			{Size: gib, State: snapshot.BlockFragmented}, {Size: 3 * gib, State: snapshot.BlockLive},
		}},
		{Size: 12 * gib, Pool: "large", Private: true, Blocks: []snapshot.Block{
			{Size: 9 * gib, State: snapshot.BlockLive}, {Size: 3 * gib, State: snapshot.BlockFragmented},
		}},
	}}
}

func TestSegmentGoldens(t *testing.T) {
	states := map[string]*state{
		"live":       mapped(carolsSegments(), nil),
		"zoomed":     mapped(carolsSegments(), func(s *segments) { s.zoom, s.top = 2, 30 }),
		"expandable": mapped(expandable(), nil),
		"asking":     mapped(snapshot.SegmentMap{}, func(s *segments) { s.found, s.asking = nil, true }),
		"again":      mapped(carolsSegments(), func(s *segments) { s.asking = true }),
		"refused": mapped(snapshot.SegmentMap{}, func(s *segments) {
			s.found, s.refusal = nil, "the program records its allocations' history: a snapshot would stop it for seconds"
		}),
		"nothing": mapped(snapshot.SegmentMap{Time: uitest.DrawnAt}, nil),
		"calm": mapped(snapshot.SegmentMap{Time: uitest.DrawnAt, Segments: []snapshot.Segment{
			{Size: 20 * quantity.MiB, Blocks: []snapshot.Block{{Size: 20 * quantity.MiB, State: snapshot.BlockLive}}},
		}}, nil),
	}
	for name, st := range states {
		for _, size := range [][2]int{{80, 22}, {120, 38}, {200, 48}, {60, 9}, {30, 3}} {
			for _, ascii := range []bool{false, true} {
				if name != "live" && (ascii || size[0] != 80) {
					continue
				}
				t.Run(fmt.Sprintf("%s %dx%d ascii=%v", name, size[0], size[1], ascii), func(t *testing.T) {
					matches(t, newDetail(st, testLook(t, "", ascii), nil, true), size[0], size[1])
				})
			}
		}
	}
	t.Run("colours", func(t *testing.T) {
		matches(t, newDetail(states["live"], testLook(t, "dark", false), nil, true), 80, 22)
	})
}

// TestACellIsWorthItsMemory: however small the segments are, each state has as
// many cells as it has memory.
func TestACellIsWorthItsMemory(t *testing.T) {
	m := newSegmentMap(carolsSegments())
	for _, unit := range []quantity.Bytes{quantity.MiB, 24 * quantity.MiB, 64 * quantity.MiB, 512 * quantity.MiB} {
		var counts [4]int
		for i := range m.bySize {
			for _, c := range m.bySize[i].cells(unit, 60) {
				if c != cellGap {
					counts[c]++
				}
			}
		}
		for state, sum := range m.sums {
			want := float64(sum) / float64(unit)
			// Each band may be half a cell off, and a segment that stands apart too.
			if off := math.Abs(float64(counts[state]) - want); off > float64(len(m.bySize))+want/10 {
				t.Errorf("at %v a cell: state %d has %d cells, its memory is worth %.1f", unit, state, counts[state], want)
			}
		}
	}
}

// TestTheMapFitsUnlessZoomed: at first sight all of it is in view.
func TestTheMapFitsUnlessZoomed(t *testing.T) {
	lk := testLook(t, "", false)
	for _, told := range []snapshot.SegmentMap{carolsSegments(), expandable()} {
		for width := 40; width <= 240; width += 13 {
			for height := 16; height <= 60; height += 3 {
				st := mapped(told, nil)
				d := newDetail(st, lk, nil, true)
				rows := d.mapHeight(width, height)
				panel := d.segmentPanel()
				if got, _ := panel.strips(width, panel.body(width, rows)); len(got) > panel.body(width, rows) {
					t.Errorf("%d×%d: %d rows of map in %d", width, height, len(got), panel.body(width, rows))
				}
			}
		}
	}
}

// TestWhatKeepsASegmentIsSeen: a huge free segment with one small live block
// must not look free.
func TestWhatKeepsASegmentIsSeen(t *testing.T) {
	m := newSegmentMap(snapshot.SegmentMap{Segments: []snapshot.Segment{{Blocks: []snapshot.Block{
		{Size: 3 * quantity.GiB, State: snapshot.BlockFragmented}, {Size: quantity.MiB, State: snapshot.BlockLive}, {Size: 3 * quantity.GiB, State: snapshot.BlockFragmented},
	}}}})
	cells := m.byFate[0].cells(128*quantity.MiB, 60)
	if !slices.Contains(cells, mapCell(snapshot.BlockLive)) {
		t.Errorf("no live cell in %v", cells)
	}
}

func TestSegmentMapAnswers(t *testing.T) {
	lk := testLook(t, "", false)
	for name, c := range map[string]struct {
		st   *state
		want []string
	}{
		"carol": {mapped(carolsSegments(), nil), []string{
			"F returns ", "40 segments have no live block.", "more is free and stays: 212 segments also have live blocks", "kept there by just ",
		}},
		"expandable": {mapped(expandable(), nil), []string{
			"F returns 6.00G: whole pages of expandable segments.", "1.00G more is free and stays: 1 segment also has live blocks (33.0G).",
			"3.00G is kept for CUDA graphs", "The 7 smallest segments were not told.", "2 segments of 9, 1m15s ago",
		}},
		"much is stuck": {mapped(snapshot.SegmentMap{Segments: []snapshot.Segment{{Blocks: []snapshot.Block{
			{Size: 1 << 30}, {Size: 1 << 29, State: snapshot.BlockFragmented},
		}}}}, nil), []string{"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}},
		"calm": {mapped(snapshot.SegmentMap{Segments: []snapshot.Segment{{Blocks: []snapshot.Block{{Size: 1 << 30}}}}}, nil), []string{
			"F returns nothing: each segment has a live block.", "1 segment, ",
		}},
	} {
		screen := strings.Join(newDetail(c.st, lk, nil, true).Render(120, 38), "\n")
		words := strings.Join(strings.Fields(screen), " ")
		for _, want := range c.want {
			if !strings.Contains(words, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s: no %q in\n%s", name, want, screen)
			}
		}
	}
}

// TestSegmentMapSurvivesNonsense: a probe may tell anything.
func TestSegmentMapSurvivesNonsense(t *testing.T) {
	lk := testLook(t, "dark", false)
	random := rand.New(rand.NewPCG(7, 7))
	sizes := []quantity.Bytes{0, 1, -1, 512, quantity.MiB, quantity.GiB, 1 << 45, 1 << 46, 1 << 62, -1 << 63, 1<<63 - 1}
	for range 300 {
		told := snapshot.SegmentMap{Time: uitest.DrawnAt.Add(time.Duration(random.Int64N(1e12) - 5e11)), Left: random.IntN(5) - 2}
		for range random.IntN(40) {
			s := snapshot.Segment{Private: random.IntN(4) == 0, Expandable: random.IntN(4) == 0, Size: sizes[random.IntN(len(sizes))]}
			for range random.IntN(6) {
				s.Blocks = append(s.Blocks, snapshot.Block{Size: sizes[random.IntN(len(sizes))], State: snapshot.BlockState(random.IntN(6))})
			}
			told.Segments = append(told.Segments, s)
		}
		st := mapped(told, func(s *segments) { s.zoom, s.top = random.IntN(4), random.IntN(50)-10 })
		for _, size := range [][2]int{{80, 22}, {30, 3}, {200, 40}} {
			uitest.CheckCells(t, newDetail(st, lk, nil, true).Render(size[0], size[1]), size[0], size[1])
		}
	}
}

// BenchmarkSegmentMap is a frame of the map of a process with very many
// segments.
func BenchmarkSegmentMap(b *testing.B) {
	told := carolsSegments()
	one := told.Segments
	for range 19 {
		told.Segments = append(told.Segments, one...)
	}
	st, lk := mapped(told, nil), testLook(b, "dark", false)
	b.ReportAllocs()
	for b.Loop() {
		newDetail(st, lk, nil, true).Render(200, 48)
	}
}

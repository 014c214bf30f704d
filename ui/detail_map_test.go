package ui

import (
	"fmt"
	"testing"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/segments"
	"vramscope/ui/uitest"
)

// mapped is the drawn state with the map of segments in the place of the
// graph.
func mapped(reported snapshot.SegmentMap, change func(*segments.View)) *state {
	st := drawnState()
	st.segments = &segmentMap{row: st.Cursor.ID, View: segments.View{Map: segments.New(reported)}}
	if change != nil {
		change(&st.segments.View)
	}
	return st
}

func TestSegmentGoldens(t *testing.T) {
	states := map[string]*state{
		"live":       mapped(uitest.CarolsSegments(), nil),
		"expandable": mapped(uitest.ExpandableSegments(), nil),
		"asking":     mapped(snapshot.SegmentMap{}, func(s *segments.View) { s.Map, s.Asking = nil, true }),
		"again":      mapped(uitest.CarolsSegments(), func(s *segments.View) { s.Asking = true }),
		"refused": mapped(snapshot.SegmentMap{}, func(s *segments.View) {
			s.Map, s.Refusal = nil, "the program records its allocations' history: a snapshot would stop it for seconds"
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
					matches(t, newDetail(st, uitest.Appearance(t, "", ascii), nil, true), size[0], size[1])
				})
			}
		}
	}
	t.Run("colours", func(t *testing.T) {
		matches(t, newDetail(states["live"], uitest.Appearance(t, "dark", false), nil, true), 80, 22)
	})
}

// BenchmarkSegmentMap is a frame of the map of a process with very many
// segments.
func BenchmarkSegmentMap(b *testing.B) {
	reported := uitest.CarolsSegments()
	one := reported.Segments
	for range 19 {
		reported.Segments = append(reported.Segments, one...)
	}
	st, lk := mapped(reported, nil), uitest.Appearance(b, "dark", false)
	b.ReportAllocs()
	for b.Loop() {
		newDetail(st, lk, nil, true).Render(200, 48)
	}
}

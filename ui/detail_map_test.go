package ui

import (
	"fmt"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/detail"
	"vramscope/ui/segments"
	"vramscope/ui/uitest"
)

// mapped returns the drawn state with the map of segments in place of the graph.
func mapped(reported snapshot.SegmentMap, change func(*segments.View)) *state {
	st := drawnState()
	st.inside = &inside{row: st.Cursor.ID, View: segments.View{Map: segments.New(reported)}}
	if change != nil {
		change(&st.inside.View)
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

// holding returns the drawn state with the holders above the graph.
func holding(change func(*detail.Held)) *state {
	st := drawnState()
	h := &detail.Held{View: &segments.View{}, Asked: uitest.DrawnAt, Found: &snapshot.Held{
		Time: uitest.DrawnAt.Add(-2 * time.Second), Allocated: 53 << 30,
		Notes: []string{"memory came and went while it was looked at: only what stayed is named"},
		Classes: []snapshot.HeldClass{
			{Class: "parameters", Bytes: 8 << 30}, {Class: "gradients", Bytes: 8 << 30}, {Class: "optimizer_state", Bytes: 16 << 30},
			{Class: "buffers"}, {Class: "activations", Bytes: 700 << 20}, {Class: "unnamed", Bytes: 21<<30 - 700<<20},
		},
	}}
	change(h)
	st.inside = &inside{row: st.Cursor.ID, held: h}
	return st
}

func TestHoldersGoldens(t *testing.T) {
	for name, st := range map[string]*state{
		"live":    holding(func(*detail.Held) {}),
		"again":   holding(func(h *detail.Held) { h.Asking = true }),
		"asking":  holding(func(h *detail.Held) { h.Found, h.Asking = nil, true }),
		"waiting": holding(func(h *detail.Held) { h.Found, h.Asking, h.Asked = nil, true, uitest.DrawnAt.Add(-4*time.Second) }),
		"refused": holding(func(h *detail.Held) { h.Found, h.Refusal = nil, "the same question is being answered" }),
		"nothing": holding(func(h *detail.Held) { h.Found = &snapshot.Held{Time: uitest.DrawnAt} }),
	} {
		for _, size := range [][2]int{{80, 22}, {120, 38}, {60, 9}, {30, 3}} {
			for _, ascii := range []bool{false, true} {
				if name == "live" || !ascii && size[0] == 80 {
					t.Run(fmt.Sprintf("%s %dx%d ascii=%v", name, size[0], size[1], ascii), func(t *testing.T) {
						matches(t, newDetail(st, uitest.Appearance(t, "", ascii), nil, true), size[0], size[1])
					})
				}
			}
		}
		if name == "live" {
			t.Run("colours", func(t *testing.T) {
				matches(t, newDetail(st, uitest.Appearance(t, "dark", false), nil, true), 80, 22)
			})
		}
	}
}

// BenchmarkSegmentMap measures a frame of a map with twenty times the segments of carol's process.
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

package segments

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/uitest"
)

// drawn returns the panel of the drawings with a map.
func drawn(t testing.TB, theme string, m snapshot.SegmentMap) Panel {
	return Panel{
		Appearance: uitest.Appearance(t, theme, false), Now: cell.Moment(uitest.DrawnAt), PyTorch: true,
		View: View{Map: New(m)},
	}
}

// TestMapFits: the strips do not need more rows than there are.
func TestMapFits(t *testing.T) {
	for _, m := range []snapshot.SegmentMap{uitest.CarolsSegments(), uitest.ExpandableSegments()} {
		for width := 40; width <= 240; width += 13 {
			for height := 10; height <= 54; height += 3 {
				panel := drawn(t, "", m)
				body := max(height-2-len(panel.answer(panel.Map, width-2, height)), 3)
				if rows, _ := panel.strips(width, body); len(rows) > body {
					t.Errorf("%d×%d: %d rows of map in %d", width, height, len(rows), body)
				}
			}
		}
	}
}

func TestSegmentMapAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		m    snapshot.SegmentMap
		want []string
	}{
		"carol": {uitest.CarolsSegments(), []string{
			"F frees ", "40 segments have no live block.", "more is fragmented: 212 segments also have live blocks", "kept there by just ",
		}},
		"expandable": {uitest.ExpandableSegments(), []string{
			"F frees 6.00G: whole pages of expandable segments.", "1.00G more is fragmented: 1 segment also has live blocks (33.0G).",
			"3.00G is kept for CUDA graphs", "The 7 smallest segments were not reported.", "2 segments of 9, 1m15s ago",
		}},
		"much is fragmented": {snapshot.SegmentMap{Segments: []snapshot.Segment{{Blocks: []snapshot.Block{
			{Size: 1 << 30}, {Size: 1 << 29, State: snapshot.BlockFragmented},
		}}}}, []string{"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}},
		"calm": {snapshot.SegmentMap{Segments: []snapshot.Segment{{Blocks: []snapshot.Block{{Size: 1 << 30}}}}}, []string{
			"F frees nothing: each segment has a live block.", "1 segment, ",
		}},
	} {
		screen := strings.Join(drawn(t, "", c.m).Render(120, 28), "\n")
		words := strings.Join(strings.Fields(screen), " ")
		for _, want := range c.want {
			if !strings.Contains(words, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s: no %q in\n%s", name, want, screen)
			}
		}
	}
}

// A hostile probe may report anything.
func TestSegmentMapSurvivesNonsense(t *testing.T) {
	if testing.Short() {
		t.Skip("long, on one goroutine")
	}
	random := rand.New(rand.NewPCG(7, 7))
	sizes := []quantity.Bytes{0, 1, -1, 512, quantity.MiB, quantity.GiB, 1 << 45, 1 << 46, 1 << 62, -1 << 63, 1<<63 - 1}
	for range 300 {
		m := snapshot.SegmentMap{Time: uitest.DrawnAt.Add(time.Duration(random.Int64N(1e12) - 5e11)), Left: random.IntN(5) - 2}
		for range random.IntN(40) {
			s := snapshot.Segment{Private: random.IntN(4) == 0, Expandable: random.IntN(4) == 0, Size: sizes[random.IntN(len(sizes))]}
			for range random.IntN(6) {
				s.Blocks = append(s.Blocks, snapshot.Block{Size: sizes[random.IntN(len(sizes))], State: snapshot.BlockState(random.IntN(6))})
			}
			m.Segments = append(m.Segments, s)
		}
		panel := drawn(t, "dark", m)
		for _, size := range [][2]int{{80, 22}, {30, 3}, {200, 40}} {
			uitest.CheckCells(t, panel.Render(size[0], size[1]), size[0], size[1])
		}
	}
}

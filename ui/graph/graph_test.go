package graph

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/uitest"
)

func TestGraphGoldens(t *testing.T) {
	for _, size := range [][2]int{{120, 12}, {80, 12}, {118, 16}, {80, 9}, {200, 20}, {50, 8}, {40, 4}} {
		for _, ascii := range []bool{false, true} {
			for _, forecast := range []bool{false, true} {
				name := fmt.Sprintf("%dx%d ascii=%v forecast=%v", size[0], size[1], ascii, forecast)
				t.Run(name, func(t *testing.T) {
					lines := leakGraph(uitest.Appearance(t, "", ascii), 3*time.Hour, forecast).Render(size[0], size[1])
					uitest.CheckCells(t, lines, size[0], size[1])
					golden.RequireEqual(t, []byte(strings.Join(lines, "\n")+"\n"))
				})
			}
		}
	}
	t.Run("colours", func(t *testing.T) {
		lines := leakGraph(uitest.Appearance(t, "dark", false), 3*time.Hour, true).Render(80, 12)
		uitest.CheckCells(t, lines, 80, 12)
		golden.RequireEqual(t, []byte(strings.Join(lines, "\n")+"\n"))
	})
}

// body returns the plotted part of a rendered graph, without labels and axis.
func body(lines []string) []string {
	var rows []string
	for _, l := range lines[1 : len(lines)-2] {
		rows = append(rows, string([]rune(ansi.Strip(l))[leftCells:]))
	}
	return rows
}

// curveSpan returns the first and last column with history in it.
func curveSpan(rows []string) (first, last int) {
	first, last = math.MaxInt, -1
	for _, row := range rows {
		for i, r := range []rune(row) {
			if strings.ContainsRune("─│┌┐└┘", r) {
				first, last = min(first, i), max(last, i)
			}
		}
	}
	return first, last
}

func TestGraphTopRowIsTheCapacityAndFloorIsRound(t *testing.T) {
	lk := uitest.Appearance(t, "", false)
	lines := leakGraph(lk, time.Hour, true).Render(120, 12)
	for i, want := range map[int]string{1: " 79.0┼", 3: "   76┤", 5: "   72┤", 7: "   68┤", 9: "   64┤"} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("row %d is %q, want %q", i, lines[i][:12], want)
		}
	}
	tall := leakGraph(lk, time.Hour, false)
	if got := tall.Render(120, 16+around)[16]; strings.HasPrefix(got, "    0┤") {
		t.Error("the axis starts at 0, which leaves most of the panel empty")
	}
	tall.History = uitest.CurveHistory{Curve: func(time.Duration) float64 { return 20 }, Now: uitest.DrawnAt, Every: time.Second, Since: time.Hour}
	if got := tall.Render(120, 16+around)[16]; !strings.HasPrefix(got, "    0┤") {
		t.Errorf("with 16 rows the axis starts at 0, not %q", got[:12])
	}
}

func TestGraphStartsWhereHistoryBegins(t *testing.T) {
	g := leakGraph(uitest.Appearance(t, "", false), 75*time.Second, false)
	first, last := curveSpan(body(g.Render(120, 12)))
	// 113 columns for 5 minutes: 75 s ago is a quarter before the end.
	if first < 82 || first > 85 {
		t.Errorf("the curve begins in column %d, want about 84", first)
	}
	if last < 111 {
		t.Errorf("the curve ends in column %d, before now", last)
	}
}

func TestGraphLeavesGapsOpen(t *testing.T) {
	g := leakGraph(uitest.Appearance(t, "", false), time.Hour, false)
	g.History = uitest.CurveHistory{Now: uitest.DrawnAt, Every: time.Second, Since: time.Hour, Curve: func(age time.Duration) float64 {
		if age > 100*time.Second && age < 200*time.Second {
			return math.NaN() // the GPU was lost
		}
		return 40
	}}
	var drawn []int
	for _, row := range body(g.Render(120, 12)) {
		for i, r := range []rune(row) {
			if r == '─' {
				drawn = append(drawn, i)
			}
		}
	}
	inGap := 0
	for _, column := range drawn {
		if column > 40 && column < 72 {
			inGap++
		}
	}
	if len(drawn) < 70 || inGap > 0 {
		t.Errorf("%d cells drawn, %d of them in the gap", len(drawn), inGap)
	}
}

func TestGraphBridgesSparseSamples(t *testing.T) {
	g := leakGraph(uitest.Appearance(t, "", false), time.Hour, false)
	g.Interval = 10 * time.Second
	g.History = uitest.CurveHistory{Now: uitest.DrawnAt, Every: 10 * time.Second, Since: time.Hour, Curve: func(time.Duration) float64 { return 40 }}
	rows := body(g.Render(120, 12))
	count := 0
	for _, row := range rows {
		count += strings.Count(row, "─")
	}
	if count < 111 {
		t.Errorf("a steady process sampled every 10 s is drawn with holes: %d of 112 columns", count)
	}
}

func TestGraphKeepsASpike(t *testing.T) {
	g := leakGraph(uitest.Appearance(t, "", false), 24*time.Hour, false)
	g.Window = 24 * time.Hour
	g.History = uitest.CurveHistory{Now: uitest.DrawnAt, Every: 15 * time.Second, Since: 24 * time.Hour, Curve: func(age time.Duration) float64 {
		if age == 6*time.Hour {
			return 78.9
		}
		return 40
	}}
	if top := body(g.Render(120, 12))[0]; !strings.ContainsAny(top, "┌┐│─") {
		t.Errorf("one sample at 78.9 GiB six hours ago has vanished: %q", top)
	}
}

func TestGraphWithoutForecastUsesWholeWidth(t *testing.T) {
	lines := leakGraph(uitest.Appearance(t, "", false), time.Hour, false).Render(80, 12)
	labels := lines[len(lines)-1]
	if strings.Contains(labels, "+") || !strings.HasSuffix(strings.TrimRight(labels, " "), "now") {
		t.Errorf("labels are %q", labels)
	}
	if strings.Contains(lines[0], "ahead") || strings.Contains(lines[0], "median") {
		t.Errorf("the title mentions a forecast: %q", lines[0])
	}
}

// TestTitleSaysWhyThereIsNoForecast: an out-of-memory error ends forecasts until memory is steady.
func TestTitleSaysWhyThereIsNoForecast(t *testing.T) {
	g := leakGraph(uitest.Appearance(t, "", false), time.Hour, false)
	g.Subject.Doubt = snapshot.Rebuilding
	if title := ansi.Strip(g.Render(120, 12)[0]); !strings.Contains(title, "back, out of memory: no forecast until steady") {
		t.Errorf("the title is %q", title)
	}
}

func TestGraphOfPastIsNotLabelledNow(t *testing.T) {
	g := leakGraph(uitest.Appearance(t, "", false), time.Hour, false)
	g.Running = false
	if all := strings.Join(g.Render(80, 12), "\n"); strings.Contains(all, "now") {
		t.Error("a graph of the past says now:\n" + all)
	}
}

func TestGraphLabelsNowAtEveryWindow(t *testing.T) {
	for _, window := range []time.Duration{
		30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, 2 * time.Hour, 24 * time.Hour,
	} {
		for _, width := range []int{60, 80, 120, 200} {
			g := leakGraph(uitest.Appearance(t, "", false), time.Hour, true)
			g.Window = window
			lines := g.Render(width, 12)
			uitest.CheckCells(t, lines, width, 12)
			labels := lines[len(lines)-1]
			if !strings.Contains(labels, "now") || !strings.Contains(labels, "-"+quantity.BriefDuration(window)) {
				t.Errorf("%s at %d: %q", window, width, labels)
			}
		}
	}
}

func TestGraphWithoutHistoryExplainsItself(t *testing.T) {
	g := leakGraph(uitest.Appearance(t, "", false), 0, false)
	g.History = nil
	lines := g.Render(80, 12)
	uitest.CheckCells(t, lines, 80, 12)
	if !strings.Contains(strings.Join(lines, "\n"), "no history yet") {
		t.Error("an empty graph does not explain itself")
	}
}

func FuzzGraphNeverPanics(f *testing.F) {
	f.Add(int64(0), int64(0), int64(0), int64(0), 120, 12, int64(300), true)
	f.Add(int64(math.MaxInt64), int64(math.MinInt64), int64(math.MinInt64+1), int64(1), 80, 5, int64(1), true)
	f.Add(int64(math.MinInt64+1), int64(math.MinInt64+1), int64(math.MinInt64+1), int64(-1), 17, 19, int64(86400), false)
	f.Add(int64(1)<<30, int64(1)<<30, int64(1)<<30, int64(1)<<30, 15, 30, int64(0), true)
	f.Add(int64(5), int64(math.MinInt64+1), int64(7), int64(math.MaxInt64), 60, 24, int64(-5), true)
	lk := uitest.Appearance(f, "", false)
	f.Fuzz(func(t *testing.T, a, b, c, capacity int64, width, height int, seconds int64, forecast bool) {
		width, height = width%300, height%100
		g := leakGraph(lk, time.Hour, forecast)
		g.History = uitest.PointsHistory{Amounts: []int64{a, b, c, a, a}}
		g.Window = time.Duration(seconds%(48*3600)) * time.Second
		g.Subject.Capacity = quantity.From(quantity.Bytes(capacity), quantity.Driver)
		for i := range g.Subject.Predicted {
			p := &g.Subject.Predicted[i]
			p.Median, p.Lower80, p.Upper80 = quantity.Bytes(b), quantity.Bytes(c), quantity.Bytes(a)
		}
		lines := g.Render(width, height)
		if len(lines) != max(height, 0) {
			t.Fatalf("%d lines of %d", len(lines), height)
		}
		for _, l := range lines {
			if got := ansi.StringWidth(l); got != max(width, 0) {
				t.Fatalf("a line of %d cells, not %d: %q", got, width, l)
			}
		}
	})
}

func BenchmarkGraph120x12(b *testing.B) {
	g := leakGraph(uitest.Appearance(b, "dark", false), time.Hour, true)
	// The cost of reading a history is the store's. This history answers at once.
	g.History = uitest.PointsHistory{Amounts: []int64{60 << 30, 61 << 30, 62 << 30, 63 << 30}}
	b.ReportAllocs()
	for b.Loop() {
		g.Render(120, 12)
	}
}

// Samples of an earlier, longer interval are joined to a line; where samples are missing, there is a gap.
func TestBridgeJoinsSamplesOfEarlierInterval(t *testing.T) {
	values := make([]float64, 60)
	for i := range values {
		values[i] = math.NaN()
	}
	for _, i := range []int{0, 5, 10, 16, 21, 26 /* lost */, 46, 47, 48, 49 /* lost once */, 56, 57, 58, 59} {
		values[i] = float64(i)
	}
	bridge(values, 1, 1)
	for i, v := range values {
		lost := i > 26 && i < 46 || i > 49 && i < 56
		if math.IsNaN(v) != lost {
			t.Errorf("column %d is %v, lost %v", i, v, lost)
		}
	}
}

// Columns that are empty at regular distances are filled; a single empty column is a gap.
func TestBridgeJoinsRegularEmptyColumns(t *testing.T) {
	values := make([]float64, 80)
	for i := range values {
		values[i] = float64(i)
		if i < 40 && i%6 == 5 || i == 60 {
			values[i] = math.NaN()
		}
	}
	bridge(values, 0, 0)
	for i, v := range values {
		if math.IsNaN(v) != (i == 60) {
			t.Errorf("column %d is %v", i, v)
		}
	}
}

// While time runs a column keeps its value: the curve moves by whole columns.
func TestColumnsMoveAsAWhole(t *testing.T) {
	g := leakGraph(uitest.Appearance(t, "", false), time.Hour, false)
	g.Window, g.Subject.Key = 10*time.Minute, snapshot.SeriesKey{GPUUUID: "GPU-3"}
	const columns = 141 // of 4.3 s
	moved, before := 0, []float64(nil)
	for second := range 60 {
		g.At = uitest.DrawnAt.Add(time.Duration(second) * time.Second)
		noise := func(age time.Duration) float64 { return float64(g.At.Add(-age).Unix() * 7919 % 101) }
		g.History = uitest.CurveHistory{Curve: noise, Now: g.At, Every: time.Second, Since: time.Hour}
		now := g.series(g.Subject.Key, columns, most)
		if before != nil && !slices.Equal(now[:columns-1], before[:columns-1]) {
			moved++
			// What was the newest column is complete only now.
			if !slices.Equal(now[:columns-2], before[1:columns-1]) {
				t.Fatalf("after %d s\n%v became\n%v", second, before, now)
			}
		}
		before = now
	}
	if moved < 60/5 || moved > 60/4+1 {
		t.Errorf("moved %d times in a minute, by columns of 4.3 s", moved)
	}
}

// The forecast stays for longestForecast. Another subject, and a screen that shows the past, get a forecast of their own.
func TestForecastStaysWithItsColumn(t *testing.T) {
	g := leakGraph(uitest.Appearance(t, "", false), time.Hour, true)
	g.Stacks = &Stacks{}
	at := func(seconds int, name string) float64 {
		g.At = uitest.DrawnAt.Truncate(longestForecast).Add(time.Duration(seconds) * time.Second)
		g.Subject.Key.GPUUUID = name
		g.Subject.Used = uitest.Known(60 + float64(seconds))
		from := g.forecast(time.Minute)
		amount, _ := from.Used.Value()
		return float64(amount) / float64(quantity.GiB)
	}
	for _, c := range []struct {
		seconds int
		name    string
		want    float64
	}{{0, "GPU-3", 60}, {1, "GPU-3", 60}, {4, "GPU-3", 60}, {5, "GPU-3", 65}, {6, "GPU-3", 65}, {7, "GPU-4", 67}, {8, "GPU-4", 67}} {
		if got := at(c.seconds, c.name); got != c.want {
			t.Errorf("after %d s the forecast for %s begins at %v GiB, want %v", c.seconds, c.name, got, c.want)
		}
	}
	if g.Running = false; at(9, "GPU-4") != 69 {
		t.Error("a screen that shows the past has a forecast of another moment")
	}
}

// leakGraph returns the graph of the drawings.
func leakGraph(lk *cell.Appearance, since time.Duration, forecast bool) Graph {
	g := Graph{
		Appearance: lk, At: uitest.DrawnAt, Running: true, Interval: time.Second,
		History: uitest.CurveHistory{Curve: uitest.Leak, Now: uitest.DrawnAt, Every: time.Second, Since: since},
		Subject: Subject{
			Key: snapshot.SeriesKey{GPUUUID: "GPU-3"}, Name: "GPU 3 used", Full: "full",
			Used: uitest.Known(72.9), Capacity: uitest.Known(79.0),
		},
	}
	if forecast {
		g.Subject.Predicted = uitest.Predictions(72.9, 25.0/1024, 0.008)
		g.Subject.FullIn = &snapshot.FullIn{Median: 250 * time.Second, Earliest: 184 * time.Second, Latest: 330 * time.Second}
	}
	return g
}

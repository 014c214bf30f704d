package graph

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"vramscope/internal/process"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/uitest"
)

// partsHistory is a history in which each metric has a steady amount of its own, in GiB.
type partsHistory struct {
	uitest.CurveHistory
	of    map[metric.ID]float64
	swing float64 // used memory swings between its amount and this much less
}

func (h partsHistory) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	gib, ok := h.of[key.Metric]
	c := h.CurveHistory
	c.Now, c.Every, c.Since = uitest.DrawnAt, time.Second, time.Hour
	c.Curve = func(ago time.Duration) float64 {
		if !ok {
			return math.NaN()
		}
		if key.Metric == metric.Used && int(ago/time.Second)%10 < 5 {
			return gib - h.swing
		}
		return gib
	}
	return c.Series(key, from, to, buckets)
}

// areaGraph returns the graph of a GPU of 79 GiB, of which one process with a probe uses 60.
func areaGraph(t *testing.T) Graph {
	g := leakGraph(uitest.Appearance(t, "dark", false), time.Hour, false)
	g.History = partsHistory{of: map[metric.ID]float64{
		metric.Used: 60, metric.Allocated: 30, metric.Cached: 12, metric.Fragmented: 6, metric.Returnable: 10,
	}}
	g.Window = 5 * time.Minute
	g.Subject.Rows = []snapshot.RowID{{Process: process.Identity{PID: 7, StartTime: 1}, GPUUUID: "GPU-3"}}
	return g
}

// TestForecastEndsWhereTheAxisEnds: no row has a background beyond the last column, and the median
// rises by quarters of a row.
func TestForecastEndsWhereTheAxisEnds(t *testing.T) {
	g := areaGraph(t)
	g.Subject.Used, g.Subject.Predicted = uitest.Known(60), uitest.Predictions(60, .1, .1)
	const width = 100
	lines := g.Render(width, 24)
	heights := map[float64]bool{}
	for row, line := range lines[1 : len(lines)-2] {
		blank := strings.LastIndex(line, " ")
		style := line[strings.LastIndex(line[:blank], "\x1b["):blank]
		if !strings.HasSuffix(ansi.Strip(line), " ") || strings.Contains(style[:strings.Index(style, "m")], "48;") {
			t.Errorf("row %d is padded in a colour: %q", row, style)
		}
		for i, glyph := range quarters {
			if strings.Contains(ansi.Strip(line), glyph) {
				heights[float64(row)-float64(i)/4] = true
			}
		}
	}
	if len(heights) < 7 {
		t.Errorf("the median is drawn at %v", heights)
	}
}

// TestKeptAxesAreThoseOfThisFrame: a graph with the Stacks of other graphs is drawn as without Stacks.
func TestKeptAxesAreThoseOfThisFrame(t *testing.T) {
	kept := &Stacks{}
	for _, size := range [][2]int{{80, 9}, {100, 24}} {
		for _, change := range []func(*Graph){
			func(*Graph) {},
			func(g *Graph) { g.Window = 30 * time.Minute },
			func(g *Graph) { g.Running = !g.Running },
			func(g *Graph) { g.Subject.Capacity = uitest.Known(100) },
			func(g *Graph) { g.Subject.Capacity = snapshot.Bytes{} },
			func(g *Graph) {
				g.Subject.Used, g.Subject.Predicted = uitest.Known(60), uitest.Predictions(60, .1, .02)
			},
			func(g *Graph) { g.Subject.Key.GPUUUID = "GPU-4" },
		} {
			g := areaGraph(t)
			g.Stacks = nil
			change(&g)
			want := g.Render(size[0], size[1])
			g.Stacks = kept
			if got := g.Render(size[0], size[1]); !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

// TestSixteenColoursHaveAnArea: the history shows its parts in the textures of the bars, under its curve.
func TestSixteenColoursHaveAnArea(t *testing.T) {
	g := areaGraph(t)
	styles, err := themes.New("", true, colorprofile.ANSI)
	if err != nil {
		t.Fatal(err)
	}
	g.Appearance.Styles = styles
	drawn := ansi.Strip(strings.Join(g.Render(100, 24), "\n"))
	inks := g.Appearance.Inks()
	for _, ink := range inks[:5] {
		if want := ink.Text != g.Appearance.Glyphs.Unknown; strings.Contains(drawn, strings.Repeat(ink.Text, 20)) != want {
			t.Errorf("%q fills the graph: want %v\n%s", ink.Text, want, drawn)
		}
	}
	if !strings.Contains(drawn, "────") || !strings.Contains(drawn, "▓ other") {
		t.Errorf("no curve, or no legend:\n%s", drawn)
	}
}

// TestStackExplainsUsedMemory: the parts add up to the used memory; cached memory that a flush does
// not free counts as fragmented.
func TestStackExplainsUsedMemory(t *testing.T) {
	g := areaGraph(t)
	used := g.series(g.Subject.Key, 60, most)
	for i, c := range g.stackOf(used, 60) {
		sum := 0.0
		for _, v := range c {
			sum += v / (1 << 30)
		}
		if math.Abs(sum-60) > 1e-3 {
			t.Fatalf("column %d: the parts make %.2f of 60 GiB", i, sum)
		}
		want := column{partOther: 12, partUnknown: 0, partAllocated: 30, partFragmented: 8, partCached: 10}
		for k := range want {
			if math.Abs(c[k]/(1<<30)-want[k]) > 1e-3 {
				t.Fatalf("column %d: part %d is %.2f GiB, want %.2f", i, k, c[k]/(1<<30), want[k])
			}
		}
	}
}

func TestStackFitsReadingsOfDifferentMoments(t *testing.T) {
	c := column{partUnknown: 40}
	c.add(60, 50, 10, 0, 10) // the row was read when it held more
	c.fit(40)
	sum := 0.0
	for _, v := range c {
		if v < 0 {
			t.Errorf("a negative part: %v", c)
		}
		sum += v
	}
	if math.Abs(sum-40) > 1e-9 {
		t.Errorf("the parts make %v of 40", sum)
	}
}

// TestAreaReachesUsed: the area is as high as used memory, to about an eighth of a row, in the bar's
// colours. In the mode with lines (Z) there is none.
func TestAreaReachesUsed(t *testing.T) {
	g := areaGraph(t)
	lines := g.Render(100, 16+around)
	s := &g.Appearance.Styles
	for name, style := range map[string]string{
		"other": string(s.Other.Append(nil, "█")), "allocated": string(s.Allocated.Append(nil, "█")), "cached": string(s.Returnable.Append(nil, "█")),
	} {
		open, _, _ := strings.Cut(style, "█")
		if !strings.Contains(strings.Join(lines, "\n"), open) {
			t.Errorf("no area of %s", name)
		}
	}
	height := 0.0
	for _, line := range lines[1 : 1+16] {
		cells := []rune(ansi.Strip(line))
		at := strings.IndexRune("▁▂▃▄▅▆▇█", cells[50])
		switch {
		case at < 0:
		case height == 0: // the top
			height = float64(at/len("█")+1) / 8
		default: // full, even if two parts share the cell
			height++
		}
	}
	if want := 60/(79.0/15) + .5; math.Abs(height-want) > .13 {
		t.Errorf("the area is %.2f rows high, want %.2f", height, want)
	}
	g.Lines = true
	if text := strings.Join(g.Render(100, 16+around), ""); strings.ContainsAny(text, "█▇▆▅") {
		t.Error("lines alone have an area")
	}
}

func TestForecastTakesAtMostFortyPercent(t *testing.T) {
	for _, window := range []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, 2 * time.Hour} {
		g := leakGraph(uitest.Appearance(t, "", false), 3*time.Hour, true)
		g.Window = window
		for _, columns := range []int{70, 113, 193} {
			if ahead := g.horizon(columns); ahead*10 > (window+ahead)*4 || ahead == 0 {
				t.Errorf("%v back in %d columns: %v ahead", window, columns, ahead)
			}
		}
	}
}

// TestWindowGrowsWithTheHistory: the shortest window is a minute.
func TestWindowGrowsWithTheHistory(t *testing.T) {
	g := leakGraph(uitest.Appearance(t, "", false), time.Hour, true)
	for age, want := range map[time.Duration]time.Duration{
		10 * time.Second: time.Minute, 90 * time.Second: 2 * time.Minute, 4 * time.Minute: 5 * time.Minute, 2 * time.Hour: 10 * time.Minute,
	} {
		g.Since = g.At.Add(-age)
		if got := g.WindowFor(16); got != want {
			t.Errorf("after %v the window is %v, want %v", age, got, want)
		}
	}
}

// TestFullIsATick: a line with the time of day marks when the memory is full, and nothing is drawn after it.
func TestFullIsATick(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		g := areaGraph(t)
		g.Appearance, g.Lines = uitest.Appearance(t, "dark", ascii), true
		g.Subject.Used, g.Subject.Predicted = uitest.Known(60), uitest.Predictions(60, .2, .02)
		g.Subject.FullIn = &snapshot.FullIn{Median: time.Minute}
		lines := body(g.Render(100, 24))
		tick := strings.IndexAny(lines[0][leftCells:], "╤+") + leftCells
		if _, label, _ := strings.Cut(lines[0], " full "); !strings.HasPrefix(label, g.At.Add(time.Minute).Format(time.TimeOnly)+" ") {
			t.Errorf("the capacity's line is %q", lines[0])
		}
		column := len([]rune(lines[0][:tick]))
		for i, line := range lines[1:] {
			if cells := []rune(line); !strings.ContainsRune("│|-·.", cells[column]) || strings.TrimSpace(string(cells[column+1:])) != "" {
				t.Errorf("lines, row %d: %q", i, line)
			}
		}
	}
	g := areaGraph(t)
	g.Subject.Used, g.Subject.Predicted = uitest.Known(60), uitest.Predictions(60, .2, .02)
	for median, edge := range map[time.Duration]string{time.Minute: "left", 170 * time.Second: "right"} {
		g.Subject.FullIn = &snapshot.FullIn{Median: median}
		lines := body(g.Render(100, 24))
		label := " full " + g.At.Add(median).Format(time.TimeOnly) + " "
		if !strings.Contains(lines[0], label) {
			t.Errorf("%s: the capacity's line is %q", edge, lines[0])
		}
		tick := strings.Index(ansi.Strip(lines[0]), "╤")
		column := len([]rune(lines[0][:tick]))
		for i, line := range lines[1:] {
			cells := []rune(line)
			if cells[column] != '│' || strings.TrimSpace(string(cells[column+1:])) != "" {
				t.Errorf("%s, row %d: %q", edge, i, line)
			}
			if i > 2 && cells[column-1] == ' ' {
				t.Errorf("%s, row %d has no forecast before the tick: %q", edge, i, line)
			}
		}
	}
}

// TestSawtoothIsNotHidden: memory that was used for only a part of a column's time is faded.
func TestSawtoothIsNotHidden(t *testing.T) {
	g := areaGraph(t)
	g.Window = time.Hour // about 40 samples a column
	h := g.History.(partsHistory)
	h.swing = 10
	g.History = h
	styles := g.Appearance.Styles
	starts := func(s themes.Style) string {
		start, _, _ := strings.Cut(string(s.Append(nil, "█")), "m█")
		return start
	}
	text := strings.Join(g.Render(100, 24), "")
	if !strings.Contains(text, starts(styles.Allocated)) || strings.Contains(text, starts(styles.Faded[2])) {
		t.Error("allocated, below every sample, is faded")
	}
	if !strings.Contains(text, starts(styles.Faded[4])) {
		t.Error("the swing of 10G is not faded")
	}
}

// TestForecastIsAsHighAsItSays: the parts of the forecast end at the median, also in the highest cell and in low graphs.
func TestForecastIsAsHighAsItSays(t *testing.T) {
	for _, rows := range []int{4, 5, 7, 9, 13, 20} {
		for used := 60.0; used < 62; used += .05 {
			g := areaGraph(t)
			g.Subject.Capacity = uitest.Known(79)
			g.Subject.Used, g.Subject.Predicted = uitest.Known(used), uitest.Predictions(used, .025, .01)
			var veils []byte
			for _, style := range g.Appearance.Styles.Veil {
				veils = style.Append(veils, "█")
			}
			g.Running, g.At = true, uitest.DrawnAt
			const columns = 80
			lines := g.Render(columns+leftCells+rightCells, rows+around)
			g.ahead = g.horizon(columns)
			c := g.curves(columns)
			scale := scaleOf(c, rows)
			a := newArea(g.Appearance, &c, scale)
			for i := len(c.parts); i < columns; i++ {
				want := min(a.ahead[i].median, float64(rows-1)) // above is the capacity
				if _, part := math.Modf(want); part < 1./16 || a.ahead[i].line(int(want)) != "" {
					continue // the upper edge is the veil's, or this row holds the line of the median
				}
				if got := drawnHeight(lines[2:1+rows], i, string(veils)); math.Abs(got-want) > .1 {
					t.Fatalf("%d rows, %.2fG used: column %d is drawn %.2f rows high, want %.2f\n%s", rows, used, i, got, want, strings.Join(lines, "\n"))
				}
			}
		}
	}
}

// TestForecastIsItsPartsUnderAVeil: the parts continue, faded, up to the median; the range is a
// veil that fades towards both bounds.
func TestForecastIsItsPartsUnderAVeil(t *testing.T) {
	for _, theme := range []string{"dark", "light", "high-contrast", "colorblind"} {
		g := areaGraph(t)
		g.Appearance = uitest.Appearance(t, theme, false)
		g.Subject.Used, g.Subject.Predicted = uitest.Known(60), uitest.Predictions(60, 0, 8)
		g.Render(100, 40)
		g.Window = g.WindowFor(40)
		g.ahead = g.horizon(90)
		c := g.curves(90)
		const rows = 37
		a := newArea(g.Appearance, &c, scaleOf(c, rows))
		column := len(c.history) - 2
		ahead, s := a.ahead[column], &g.Appearance.Styles
		var below, above string // the layers, and what covers them, from below
		for a.row = range rows - 1 {
			style, glyph := a.at(column)
			middle, behind := float64(a.row)+.5, a.behind(column)
			faded, veil := slices.Index(s.Faded[:], behind), slices.Index(s.Veil[:], behind)
			switch {
			case middle < ahead.median && faded < 0:
				t.Errorf("%s, row %d: there is no part below the median", theme, a.row)
			case middle < ahead.median && style == s.Edge(s.Veil[0], behind):
				below += glyph
			case middle > ahead.median && middle < ahead.upper:
				above += strconv.Itoa(veil)
			case middle < ahead.lower && strings.Contains("░▒", glyph), middle > ahead.upper+.5 && glyph != " ":
				t.Errorf("%s, row %d: %q outside of the range", theme, a.row, glyph)
			}
		}
		if !regexp.MustCompile("^░+▒+$").MatchString(below) || !regexp.MustCompile("^0+1+2+$").MatchString(above) {
			t.Errorf("%s: the veil is %q below the median and %q above it", theme, below, above)
		}
	}
}

// drawnHeight returns how high a column is filled with parts, in rows.
func drawnHeight(lines []string, column int, veils string) (height float64) {
	for _, line := range lines {
		cells, ground, veil := 0, false, false
		for line != "" {
			if sequence, rest, found := strings.Cut(line, "m"); found && strings.HasPrefix(line, "\x1b[") {
				ink, colour, _ := strings.Cut(sequence, ";48;")
				veil, ground, line = strings.Contains(veils, ink), colour != "" && !strings.Contains(veils, colour), rest
				continue
			}
			r, size := utf8.DecodeRuneInString(line)
			line = line[size:]
			if cells++; cells != leftCells+column+1 {
				continue
			}
			switch at := strings.IndexRune("▁▂▃▄▅▆▇█", r); {
			case ground || height > 0:
				height++
			case at >= 0 && !veil:
				height = float64(at/len("█")+1) / 8
			}
		}
	}
	return height
}

func TestLegendNamesWhatIsDrawn(t *testing.T) {
	g := areaGraph(t)
	if title := ansi.Strip(g.Render(120, 12)[0]); !strings.Contains(title, "■ other ■ alloc ■ frag ■ cached") {
		t.Errorf("the parts are named %q", title)
	}
	g.Subject.Rows = nil // no probe
	if title := ansi.Strip(g.Render(120, 12)[0]); !strings.Contains(title, "■ unknown  ") || strings.Contains(title, "alloc") {
		t.Errorf("memory without a probe is named %q", title)
	}
}

// TestMissingForecastMovesNothing: while there is no forecast, its columns stay empty.
func TestMissingForecastMovesNothing(t *testing.T) {
	g := areaGraph(t)
	g.Running = true
	g.Subject.Used, g.Subject.Predicted = uitest.Known(60), uitest.Predictions(60, .1, .02)
	with := body(g.Render(100, 12))
	for _, doubt := range []snapshot.Doubt{snapshot.Young, snapshot.Loading, snapshot.Rebuilding} {
		g.Subject.Predicted, g.Subject.Doubt = nil, doubt
		lines := g.Render(100, 12)
		without := body(lines)
		before, _, _ := strings.Cut(ansi.Strip(lines[len(lines)-1]), "now")
		now := len(before) - leftCells
		for row := range without {
			if got, want := []rune(without[row])[:now], []rune(with[row])[:now]; !slices.Equal(got, want) {
				t.Errorf("%s, row %d: got %q, want %q", doubt, row, string(got), string(want))
			}
			if rest := string([]rune(without[row])[now+3:]); row > 0 && strings.TrimSpace(rest) != "" {
				t.Errorf("%s, row %d: a forecast: %q", doubt, row, rest)
			}
		}
	}
}

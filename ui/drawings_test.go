package ui

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
)

// TestDrawings compares screens with their drawings, line by line. testdata/drawings/README.md says where a drawing was
// changed on purpose.
func TestDrawings(t *testing.T) {
	story := snapshottest.DrawnBox()
	ascii := drawnLook(t)
	ascii.Glyphs = cell.ASCIIGlyphs()
	for _, drawing := range []struct {
		name  string
		state *state
		look  *cell.Appearance
		rows  [2]int // the first and last line of the screen that the drawing shows
	}{
		{"1-story-80x24", screenOf(story, 80, 24).at(snapshottest.Probeme, 10), drawnLook(t), [2]int{0, 24}},
		{"1b-day-one-80x24", screenOf(snapshottest.DayOne(), 80, 24).at(1288410, 0), drawnLook(t), [2]int{0, 24}},
		{"1c-focus-80x11", focused(screenOf(story, 80, 24), 5), drawnLook(t), [2]int{4, 15}},
		{"2-sixteen-gpus-80x24", screenOf(snapshottest.SixteenGPUs(), 80, 24), drawnLook(t), [2]int{0, 24}},
		{"3-story-120x40", screenOf(story, 120, 40).at(snapshottest.Probeme, 10), drawnLook(t), [2]int{0, 40}},
		{"4-story-200x50", screenOf(story, 200, 50).at(snapshottest.Leaking, 1), drawnLook(t), [2]int{0, 50}},
		{"9-no-driver-80x24", screenOf(snapshottest.NoDriver(), 80, 24), drawnLook(t), [2]int{0, 24}},
		{"10-pane-60x11", screenOf(story, 60, 11), drawnLook(t), [2]int{0, 11}},
		{"11-ascii-80x24", screenOf(story, 80, 24).at(snapshottest.Probeme, 10), ascii, [2]int{0, 24}},
	} {
		t.Run(drawing.name, func(t *testing.T) {
			want := readLines(t, filepath.Join("testdata", "drawings", drawing.name+".txt"))
			got := frame(drawing.state, drawing.look)[drawing.rows[0]:drawing.rows[1]]
			if len(want) != len(got) {
				t.Fatalf("%d lines, the drawing has %d", len(got), len(want))
			}
			lay := arrange(drawing.state.width, drawing.state.height, drawing.state.box())
			for i := range want {
				// Goldens compare the curves.
				if y := drawing.rows[0] + i; y > lay.graph.top && y < lay.graph.top+lay.graph.rows {
					continue
				}
				if got[i] != want[i] {
					t.Errorf("line %d\n got %s|\nwant %s|", drawing.rows[0]+i+1, got[i], want[i])
				}
			}
		})
	}
}

func focused(st *state, gpu int) *state {
	st.Focus = &snapshot.Place{GPUUUID: st.shown.GPUs[gpu].UUID}
	return st
}

// TestRowStates is drawing 1d: the states of a row in a table of 80 cells.
func TestRowStates(t *testing.T) {
	want := readLines(t, filepath.Join("testdata", "drawings", "1d-row-states-80x9.txt"))
	got := []string{frame(screenOf(snapshottest.DrawnBox(), 80, 24), drawnLook(t))[9]}
	for _, c := range []struct {
		pid    int
		change func(p *snapshot.Process)
		cursor bool
		gone   bool
	}{
		{pid: snapshottest.Leaking, change: func(p *snapshot.Process) { p.Command = []string{"(a live probe)"} }},
		{pid: snapshottest.Leaking, change: func(p *snapshot.Process) {
			p.Probe = &snapshot.Probe{State: snapshot.ProbeStale, Age: 3 * time.Second}
		}},
		{pid: snapshottest.Leaking, change: func(p *snapshot.Process) {
			p.Probe = &snapshot.Probe{State: snapshot.ProbeSilent, Age: 14 * time.Second}
		}},
		{pid: 3000533},
		{pid: snapshottest.Probeme, cursor: true},
		{pid: 184},
		{pid: snapshottest.Probeme, gone: true, change: func(p *snapshot.Process) { p.Peak = amountIn(9.84) }},
		{pid: 2963101, change: func(p *snapshot.Process) {
			p.Probe.Mismatch, p.Other = true, quantity.From(-96*quantity.MiB, quantity.Computed)
		}},
	} {
		s := snapshottest.DrawnBox()
		for i := range s.Rows {
			if p := &s.Rows[i]; p.ID.Process.PID == c.pid && c.change != nil {
				c.change(p)
			}
		}
		st := screenOf(s, 80, 24)
		if c.gone {
			i := slices.IndexFunc(s.Rows, func(p snapshot.Process) bool { return p.ID.Process.PID == c.pid })
			s.Ended = []snapshot.EndedProcess{{Last: s.Rows[i], Ended: s.Time.Add(-12 * time.Second)}}
			s.Rows = slices.Delete(s.Rows, i, i+1)
		}
		if c.cursor {
			st.at(c.pid, 5)
		}
		for _, line := range frame(st, drawnLook(t)) {
			if strings.Contains(line[:12], strconv.Itoa(c.pid)) {
				got = append(got, line)
			}
		}
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Errorf("line %d\n got %s|\nwant %s|", i+1, got[min(i, len(got)-1)], want[i])
		}
	}
}

func amountIn(gib float64) snapshot.Bytes {
	return quantity.From(quantity.Bytes(gib*float64(quantity.GiB)), quantity.Driver)
}

func readLines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

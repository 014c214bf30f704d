package ui

import (
	"slices"
	"strings"
	"testing"

	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"
	"vramscope/ui/table"
)

// TestFewGPUsGetAGraph: at 80×24 a box with one or two GPUs has the graph and at least five rows of processes. With more
// GPUs or with MIG instances it keeps its rows and has no graph.
func TestFewGPUsGetAGraph(t *testing.T) {
	for _, c := range []struct {
		name              string
		width, height     int
		box               box
		rows, graph, gpus int
	}{
		{"one GPU", 80, 24, box{gpus: 1}, 7, 12, 1},
		{"two GPUs", 80, 24, box{gpus: 2}, 6, 12, 2},
		{"two, with a header", 100, 24, box{gpus: 2}, 5, 12, 3},
		{"two in a pane", 80, 22, box{gpus: 2}, 16, 0, 2},
		{"three", 80, 24, box{gpus: 3}, 17, 0, 3},
		{"MIG", 80, 24, box{gpus: 1, instances: 3}, 16, 0, 4},
		{"one on a high screen", 80, 40, box{gpus: 1}, 12, 23, 1},
	} {
		lay := arrange(c.width, c.height, c.box)
		if lay.rows() != c.rows || lay.graph.rows != c.graph || lay.gpus.rows != c.gpus {
			t.Errorf("%s: %d rows, a graph of %d, %d of GPUs; want %d, %d, %d", c.name, lay.rows(), lay.graph.rows, lay.gpus.rows, c.rows, c.graph, c.gpus)
		}
	}
}

// TestHighScreenIsUsed: rows that the table does not need show a graph of each GPU, or a higher graph of a single GPU.
func TestHighScreenIsUsed(t *testing.T) {
	for _, c := range []struct {
		name                    string
		width, height           int
		box                     box
		rows, graph, tiles, per int
	}{
		{"eight GPUs", 300, 80, box{gpus: 8, instances: 3, running: 13}, 18, 20, 26, 13},
		{"eight, many processes", 300, 80, box{gpus: 8, running: 64}, 47, 20, 0, 0},
		{"sixteen", 300, 100, box{gpus: 16, running: 20}, 24, 25, 30, 10},
		{"one", 300, 80, box{gpus: 1, running: 2}, 12, 62, 0, 0},
		{"very large", 1000, 200, box{gpus: 8, running: 64}, 72, 51, 64, 32},
		{"eight, not high", 200, 50, box{gpus: 8, instances: 3, running: 13}, 18, 16, 0, 0},
	} {
		lay := arrange(c.width, c.height, c.box)
		per := 0
		if lay.tiles.rows > 0 {
			_, per = lay.tilesOf(c.box.gpus)
		}
		if lay.rows() != c.rows || lay.graph.rows != c.graph || lay.tiles.rows != c.tiles || per != c.per {
			t.Errorf("%s: %d rows, a graph of %d, tiles of %d, %d each; want %d, %d, %d, %d",
				c.name, lay.rows(), lay.graph.rows, lay.tiles.rows, per, c.rows, c.graph, c.tiles, c.per)
		}
	}
}

// TestTiles: each GPU has a tile, and a click on a tile focuses the GPU.
func TestTiles(t *testing.T) {
	m := newTestModel(t, snapshottest.DrawnBox(), withMouse)
	m.resize(300, 80)
	m.draw()
	for _, title := range []string{"── GPU 0 ─", "── GPU 3 ─", "── GPU 7 ─", "60.8G used ──"} {
		m.shows(title)
	}
	m.click("── GPU 7 ─")
	if f := m.st.Focus; f == nil || f.GPUUUID != m.st.shown.GPUs[7].UUID {
		t.Errorf("a click on the tile of GPU 7 focuses %v", f)
	}
}

// TestFocusGivesRowsToTheGraph: the rows that the table of one GPU does not need show the GPU's graph.
func TestFocusGivesRowsToTheGraph(t *testing.T) {
	for _, size := range [][2]int{{100, 34}, {80, 24}, {120, 40}, {200, 50}} {
		st := focused(screenOf(snapshottest.DrawnBox(), size[0], size[1]), 3)
		lay := arrange(st.width, st.height, st.box())
		if lay.table.rows < 1+2 || lay.table.rows > 1+4 || lay.graph.rows < 7 {
			t.Errorf("%v: %d rows of table, %d of graph", size, lay.table.rows, lay.graph.rows)
		}
		if text := strings.Join(frame(st, drawnLook(t)), "\n"); !strings.Contains(text, "── GPU 3 used") {
			t.Errorf("%v: no graph of the GPU in focus:\n%s", size, text)
		}
	}
}

// TestOverlaysLeaveGPULinesInSight: no overlay covers the GPU lines.
func TestOverlaysLeaveGPULinesInSight(t *testing.T) {
	lk := drawnLook(t)
	var columns []dialog.Column
	for _, c := range items(table.Columns()) {
		columns = append(columns, dialog.Column{Item: c})
	}
	for _, overlay := range []dialog.Overlay{
		dialog.NewHelp(lk), allKeys(lk), dialog.NewEvents(lk, &dialog.Screen{}), dialog.NewReport(lk),
		dialog.NewSetup(lk, dialog.Settings{}, dialog.Choices{Columns: columns}), dialog.NewSortBy(lk, items(table.Columns()), "USED", false),
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			st := screenOf(snapshottest.DrawnBox(), size[0], size[1])
			lay := arrange(st.width, st.height, st.box())
			before := frame(st, lk)[:lay.table.top]
			st.overlay = overlay
			if !slices.Equal(frame(st, lk)[:lay.table.top], before) {
				t.Errorf("%v: %T covers the GPU lines", size, overlay)
			}
		}
	}
}

func allKeys(lk *cell.Appearance) dialog.Overlay {
	o, _ := dialog.NewHelp(lk).Press("tab", 80, 24)
	return o
}

// TestDetailGrows: a detail beside the graph uses the room under it for a graph of a longer time.
func TestDetailGrows(t *testing.T) {
	for size, want := range map[[2]int]bool{{200, 50}: false, {300, 80}: false, {400, 160}: true, {1000, 200}: true} {
		got := strings.Contains(strings.Join(frame(screenOf(snapshottest.DrawnBox(), size[0], size[1]), drawnLook(t)), "\n"), " used, 24h back ")
		if got != want {
			t.Errorf("%d columns and %d lines: a graph of the day is %v, want %v", size[0], size[1], got, want)
		}
	}
}

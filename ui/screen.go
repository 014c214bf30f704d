package ui

import (
	"slices"
	"strconv"
	"time"

	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"
	"vramscope/ui/graph"
	"vramscope/ui/table"
)

// frame draws the whole screen: exactly height lines of exactly width cells. It depends only on its arguments, and
// changes nothing but their caches.
//
//	arrange ─→ layout ─┬─ header, GPU lines or driver's screen
//	table.List ────────┼─ table
//	                   ├─ tiles, graph, detail
//	                   └─ alert, keys        ←─ overlay over some of it
func frame(st *state, lk *cell.Appearance) []string {
	if st.width < minWidth || st.height < minHeight {
		return tooSmall(st.width, st.height, lk)
	}
	lay := arrange(st.width, st.height, st.box())
	t := st.table(lk)
	out := make([]string, 0, st.height)
	header := drawn(st.width, func(l *cell.Line) { writeHeader(l, st, lk) })
	switch page := lay.page(); {
	case st.shown == nil:
		out = append(out, header...)
		out = cell.Fill(out, st.width, st.height-lay.alert.rows-lay.keys.rows)
	case st.page != nil:
		gpu := st.gpuPage(lk)
		out = append(append(out, header[:page.top]...), gpu.Render(st.width, page.rows)...)
	case st.detail:
		out = append(append(out, header[:page.top]...), newDetail(st, lk, t.Rows, true).Render(st.width, page.rows)...)
	default:
		out = drawMain(append(out, header[:lay.header.rows]...), st, lk, lay, t)
	}
	if lay.alert.rows > 0 {
		out = append(out, drawn(st.width, func(l *cell.Line) { writeAlert(l, st, lk) })...)
	}
	out = append(out, bottom(st, lk, lay, t)...)
	if st.overlay != nil {
		out = covered(out, st, lay)
	}
	return cell.Fill(out, st.width, st.height)
}

func drawMain(out []string, st *state, lk *cell.Appearance, lay *layout, t *table.Table) []string {
	switch {
	case lay.gpus.rows == 0:
	case st.noDriver():
		out = append(out, driverScreen{look: lk, shown: st.shown, now: st.moment()}.Render(st.width, lay.gpus.rows)...)
	default:
		out = append(out, st.gpus(lk, lay).Render(st.width, lay.gpus.rows)...)
	}
	if lay.spare.rows > 0 {
		out = append(out, drawn(st.width, func(l *cell.Line) { writeLegend(l, st, lk) })...)
		out = cell.Fill(out, st.width, lay.spare.top+lay.spare.rows)
	}
	if lay.table.rows > 0 {
		out = append(out, t.Render(st.width, lay.table.rows)...)
	}
	if lay.tiles.rows > 0 {
		out = append(out, tiles(st, lk, lay)...)
	}
	if lay.graph.rows > 0 {
		out = append(out, beside(st, lk, lay, t.Rows)...)
	}
	return out
}

func tiles(st *state, lk *cell.Appearance, lay *layout) []string {
	across, height := lay.tilesOf(len(st.shown.GPUs))
	width := lay.width + 1
	window := graph.Graph{Window: st.window}.WindowFor(lay.graph.rows)
	out := make([]string, lay.tiles.rows)
	for i := range across * lay.tileRows {
		down, column := i/across, i%across
		cells := (column+1)*width/across - column*width/across - 1
		lines := cell.Blank(cells, height)
		if i < len(st.shown.GPUs) {
			key := snapshot.SeriesKey{Metric: metric.Used, GPUUUID: st.shown.GPUs[i].UUID}
			g := graphAbout(st, lk, key)
			g.Tile, g.Window, g.Stacks = true, window, st.stacks.Of(key)
			lines = g.Render(cells, height)
		}
		for j, line := range lines {
			if column > 0 {
				line = " " + line
			}
			out[down*height+j] += line
		}
	}
	return out
}

// beside draws the graph and, where there is room, the detail at its right.
func beside(st *state, lk *cell.Appearance, lay *layout, rows []table.Row) []string {
	lines := graphAbout(st, lk, followed(st)).Render(lay.graph.cells, lay.graph.rows)
	if lay.detail.rows == 0 {
		return lines
	}
	detail := newDetail(st, lk, rows, false).Render(lay.detail.cells, lay.detail.rows)
	for i := range lines {
		lines[i] += " " + detail[i]
	}
	return lines
}

// bottom returns the last line: the prompt, the alert if that has no line of its own, or the keys.
func bottom(st *state, lk *cell.Appearance, lay *layout, t *table.Table) []string {
	switch {
	case st.typing != nil:
		return st.typing.prompt.Render(st.width, lay.keys.rows)
	case lay.alert.rows == 0 && st.speaks():
		return []string{alertAndBadges(st, lk, lay)}
	default:
		return drawn(st.width, func(l *cell.Line) { writeKeys(l, st, lk, lay, t) })
	}
}

// alertAndBadges returns the alert and, if the header is out of sight, its badges.
func alertAndBadges(st *state, lk *cell.Appearance, lay *layout) string {
	var badges []string
	if st.hidesHeader(lay) {
		badges = st.badges()
	}
	cells := 0
	for _, badge := range badges {
		cells += len(badge) + 2
	}
	// The alert line's words replace the badge PAST or FROZEN.
	if words := st.standstill(); words != "" && cells > 0 {
		last := len(badges[len(badges)-1]) + 2
		if st.width-cells+last >= text.Width(words) {
			badges, cells = badges[:len(badges)-1], cells-last
		}
	}
	const worthSaying = 12
	room := st.width - cells
	if cells > 0 && room < worthSaying {
		room = 0
	}
	s := cell.NewLine(room)
	writeAlert(s, st, lk)
	marks := cell.NewLine(st.width - room)
	marks.To(st.width - room - cells)
	for i, badge := range badges {
		marks.Skip(min(i+1, 2))
		marks.Put(lk.Styles.Badge, badge)
	}
	return s.String() + marks.String()
}

// hidesHeader reports whether the header is out of sight: absent, or covered by a page or an overlay.
func (st *state) hidesHeader(lay *layout) bool {
	if lay.header.rows == 0 || st.fills() && lay.page().top == 0 {
		return true
	}
	if st.overlay == nil {
		return false
	}
	rows := st.overlay.Size(st.width)
	r := lay.over(rows)
	return r.top == 0 && r.rows-rows < 2
}

// speaks reports whether the alert comes before the keys, where they share a line.
func (st *state) speaks() bool {
	return st.shown == nil || len(st.headlines()) > 0 || st.noDriver() || !st.past.IsZero() || st.frozen || st.speaking() || st.progress != "" || st.asksFit()
}

func covered(lines []string, st *state, lay *layout) []string {
	r := lay.over(st.overlay.Size(st.width))
	top, end := min(r.top, len(lines)), min(r.top+r.rows, len(lines))
	return slices.Concat(lines[:top], dialog.Overlaid(lines[top:end], st.overlay, st.width), lines[end:])
}

func (st *state) box() box {
	b := box{noDriver: st.noDriver(), tableOnly: st.onTable}
	if st.shown == nil {
		return b
	}
	b.gpus, b.running = len(st.shown.GPUs), len(st.shown.Rows)
	if f := st.Focus; f != nil {
		b.focused = true
		for range st.shown.PlaceRows(*f) {
			b.inFocus++
		}
	}
	for i := range st.shown.GPUs {
		gpu := &st.shown.GPUs[i]
		b.instances += len(gpu.Instances)
		if st.Focus != nil && st.Focus.GPUUUID == gpu.UUID {
			b.opened = len(gpu.Instances)
		}
	}
	return b
}

// noDriver reports whether the driver's screen replaces the GPU lines.
func (st *state) noDriver() bool {
	return st.shown != nil && st.shown.Driver.State != snapshot.DriverOK && st.shown.Driver.State != ""
}

// moment returns the time from which ages are measured: the shown moment if it is frozen, past or after now, else now.
func (st *state) moment() time.Time {
	if st.shown != nil && (!st.past.IsZero() || st.frozen || st.now.Before(st.shown.Time)) {
		return st.shown.Time
	}
	return st.now
}

func drawn(width int, write func(l *cell.Line)) []string {
	l := cell.NewLine(width)
	write(l)
	return []string{l.String()}
}

func tooSmall(width, height int, lk *cell.Appearance) []string {
	if width <= 0 || height <= 0 {
		return nil
	}
	s := "vramscope needs " + strconv.Itoa(minWidth) + lk.Glyphs.Times + strconv.Itoa(minHeight)
	out := drawn(width, func(l *cell.Line) { l.Put(lk.Styles.Text, text.Cut(s, width, "")) })
	return cell.Fill(out, width, height)
}

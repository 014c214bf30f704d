package ui

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// tablePanel is the processes: column titles, then as many rows as fit,
// around the cursor.
type tablePanel struct {
	look    *cell.Appearance
	state   *state
	shown   *snapshot.Snapshot
	now     time.Time
	rows    []row
	columns []column
	order   sortOrder
}

func newTablePanel(st *state, lk *cell.Appearance, rows []row) tablePanel {
	return tablePanel{
		look: lk, state: st, shown: st.shown, now: st.moment(), rows: rows, order: st.order(),
		columns: columnsAt(st.width, st.tableBox(lk)),
	}
}

// tableBox is what this box makes of the columns.
func (st *state) tableBox(lk *cell.Appearance) tableBox {
	b := tableBox{
		parts: st.partsShown(), ascii: lk.Glyphs.Spark == nil,
		ahead: st.shown != nil && st.shown.Forecasting || st.live != nil && st.live.Forecasting,
	}
	if st.shown != nil {
		for i := range st.shown.GPUs {
			gpu := &st.shown.GPUs[i]
			b.wideGPU = b.wideGPU || gpu.Index >= 10 && len(gpu.Instances) > 0
		}
	}
	return b
}

// partsShown reports whether the columns of parts are there: from the first
// probe on, for good.
func (st *state) partsShown() bool {
	return st.partsEver || st.shown != nil && st.shown.ProbeSeen || st.live != nil && st.live.ProbeSeen
}

// firstRow is the first row in view: the one that leaves the cursor's process
// on the screen line that it has; the top while there is no cursor.
func firstRow(st *state, rows []row, room int) int {
	if !st.cursor.active {
		return 0
	}
	at := indexOfRow(rows, st.cursor.id)
	if at < 0 {
		return 0
	}
	line := min(max(st.cursor.line, 0), max(room-1, 0))
	return max(min(at-line, len(rows)-room), 0)
}

// indexOfRow is where a row stands, −1 where it does not.
func indexOfRow(rows []row, id snapshot.RowID) int {
	for i := range rows {
		if rows[i].process.ID == id {
			return i
		}
	}
	return -1
}

// Render implements panel.
func (t tablePanel) Render(width, height int) []string {
	out := make([]string, 0, height)
	l := cell.NewLine(width)
	if height > 0 {
		t.writeTitles(l)
		out = append(out, l.String())
	}
	room := height - len(out)
	first := firstRow(t.state, t.rows, room)
	for i := range room {
		l.Reset(width)
		if first+i < len(t.rows) {
			out = append(out, t.render(l, &t.rows[first+i]))
			continue
		}
		if i == 0 {
			l.Skip(1)
			l.Put(t.look.Styles.Dim, t.nothing())
		}
		out = append(out, l.String())
	}
	return out
}

// nothing says why there is no row.
func (t *tablePanel) nothing() string {
	filter := text.Cut(text.Clean(t.state.filter), 24, t.look.Glyphs.Ellipsis) // the way out must have room beside it
	switch {
	case filter != "" && t.state.mine:
		return "no process of " + text.Clean(t.shown.Host.User) + " matches " + filter + "   Esc: all"
	case filter != "":
		return "no process matches " + filter + "   Esc: all"
	case t.state.mine:
		return "no process of " + text.Clean(t.shown.Host.User) + "   u: everybody's"
	case t.state.focus != nil:
		return "no process here   Esc: all GPUs"
	case t.shown.Driver.State != snapshot.DriverOK:
		return ""
	case t.unattributed():
		return "the driver lists no process, though memory is used: it may not tell in here"
	default:
		return "no process uses a GPU"
	}
}

// unattributed reports whether there is memory in use that is nobody's.
func (t *tablePanel) unattributed() bool {
	for i := range t.shown.GPUs {
		if t.shown.GPUs[i].Unattributed.Or(0) >= quantity.GiB {
			return true
		}
	}
	return false
}

// writeTitles writes the column titles. The sort marker stands right before
// the title that the table is sorted by, in the gap where the title fills its
// cell.
func (t *tablePanel) writeTitles(l *cell.Line) {
	s, g := &t.look.Styles, &t.look.Glyphs
	sorted := columnNamed(t.order.column)
	marker := g.SortDown
	if t.order.reversed {
		marker = g.SortUp
	}
	for _, c := range t.columns {
		start := l.Used() + 1
		at := start
		if !c.left {
			at = start + c.cells - len(c.title)
		}
		if c.id == sorted && c.title != "" {
			l.To(at - 1)
			l.Put(s.Strong, marker)
			l.Put(s.Strong, c.title)
		} else {
			l.To(at)
			l.Put(s.Header, c.title)
		}
		l.To(start + c.cells)
	}
}

// render draws one row: the cursor's reversed from edge to edge, one that has
// ended dim, others figure by figure.
func (t *tablePanel) render(l *cell.Line, r *row) string {
	s := &t.look.Styles
	at := t.state.cursor.active && r.process.ID == t.state.cursor.id
	mark := " "
	switch {
	case t.state.tags[r.process.ID]:
		mark = "*"
	case at:
		mark = ">"
	}
	if at || r.gone != nil {
		plain := *t.look
		plain.Styles = themes.Styles{}
		reversed := t.withLook(&plain)
		l.Put(themes.Style{}, mark)
		reversed.writeRow(l, r, at)
		if at {
			return l.In(s.Cursor)
		}
		return l.In(s.Dim)
	}
	l.Put(s.Strong, mark)
	t.writeRow(l, r, false)
	return l.String()
}

func (t *tablePanel) withLook(lk *cell.Appearance) *tablePanel {
	other := *t
	other.look = lk
	return &other
}

// writeRow writes the columns after the mark.
func (t *tablePanel) writeRow(l *cell.Line, r *row, atCursor bool) {
	if r.gone != nil {
		t.writeGone(l, r)
		return
	}
	words := t.partsWords(r.process, atCursor)
	for i := 0; i < len(t.columns); i++ {
		c := &t.columns[i]
		if i > 0 {
			l.Skip(1)
		}
		if words != "" && c.id == columnAllocated {
			last := t.lastPart(i)
			if cells := t.span(i, last); cells >= len("no probe") {
				l.Left(t.wordStyle(r.process), words, cells, t.look.Glyphs.Ellipsis)
				i = last
				continue
			}
		}
		t.writeCell(l, c, r)
	}
}

// lastPart is the last of the columns that words can take the place of:
// allocated, fragmented, cached.
func (t *tablePanel) lastPart(from int) int {
	last := from
	for i := from; i < len(t.columns); i++ {
		if id := t.columns[i].id; id == columnFragmented || id == columnCached {
			last = i
		}
	}
	return last
}

// span is the cells from one column to another with the blanks between them.
func (t *tablePanel) span(from, to int) int {
	cells := to - from
	for i := from; i <= to; i++ {
		cells += t.columns[i].cells
	}
	return cells
}

// partsWords stand in place of figures that a probe does not tell: that it
// fell silent, or, only under the cursor, that there is none.
func (t *tablePanel) partsWords(p *snapshot.Process, atCursor bool) string {
	if p.Probe != nil {
		if p.Probe.State == snapshot.ProbeSilent {
			return "probe silent " + cell.Duration(p.Probe.Age)
		}
		if atCursor && p.Probe.State == snapshot.ProbeLive && len(p.Allocators) == 0 && !p.Allocated.Known() && t.state.past.IsZero() {
			return "no allocator yet"
		}
		return ""
	}
	if !atCursor || p.Allocated.Known() || p.ID.Process.Foreign() || !t.state.shownOwn(p) {
		return ""
	}
	if t.look.Keys != nil && t.look.Keys.Has(keys.Attach) && t.state.past.IsZero() {
		return "no probe a:attach"
	}
	return "no probe"
}

func (t *tablePanel) wordStyle(p *snapshot.Process) themes.Style {
	if p.Probe != nil && p.Probe.State == snapshot.ProbeSilent {
		return t.look.Styles.Warning
	}
	return t.look.Styles.Dim
}

// shownOwn reports whether whoever looks may act on the process: it is theirs,
// or they are root.
func (st *state) shownOwn(p *snapshot.Process) bool {
	user := st.shown.Host.User
	return user == "root" || user != "" && user == p.User
}

// writeGone writes what is left of an ended process, from the column after
// the user to the command.
func (t *tablePanel) writeGone(l *cell.Line, r *row) {
	g := &t.look.Glyphs
	for i := range t.columns {
		c := &t.columns[i]
		if i > 0 {
			l.Skip(1)
		}
		if c.id != columnGPU && c.id != columnPID && c.id != columnUser {
			last := len(t.columns) - 2 // all but the command
			cells := t.span(i, last)
			l.Left(t.look.Styles.Dim, goneText(r.gone, t.now, cells), cells, g.Ellipsis)
			l.Skip(1)
			t.writeCell(l, &t.columns[last+1], r)
			return
		}
		t.writeCell(l, c, r)
	}
}

// goneText says how a process ended, as fully as so many cells allow. The peak
// goes first, then what it had; out of memory is why one looks.
func goneText(gone *snapshot.EndedProcess, now time.Time, cells int) string {
	ended := "gone " + cell.Duration(now.Sub(gone.Ended))
	had, peak, short, long := "", "", "", ""
	if v, ok := gone.Last.Used.Value(); ok {
		had = v.String()
	}
	if v, ok := gone.Last.Peak.Value(); ok {
		peak = ", peak " + v.String()
	}
	if n := gone.OutOfMemoryCount.Or(0); n > 0 {
		count := string(cell.AppendInt(nil, int(min(n, 999))))
		short, long = ", OOM x"+count, ", out of memory x"+count+" (allocator)"
	}
	if status, ok := gone.ExitStatus.Value(); ok {
		exit := ", exit " + string(cell.AppendInt(nil, status))
		short, long = short+exit, long+exit
	}
	was, colon := "", ""
	if had != "" {
		was, colon = ": was "+had, ": "+had
	}
	for _, text := range [...]string{ended + " ago" + was + peak + long, ended + colon + peak + short, ended + colon + short} {
		if len(text) <= cells {
			return text
		}
	}
	return ended + short
}

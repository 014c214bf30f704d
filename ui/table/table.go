package table

import (
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// Table shows the column titles, then as many rows as fit around the cursor.
type Table struct {
	Listing
	Appearance *cell.Appearance
	Snapshot   *snapshot.Snapshot
	History    snapshot.History // of the spark column; nil while there is none
	Now        time.Time        // the time from which ages are measured
	Past       bool             // Now is a moment of the past
	Parts      bool             // the columns of parts are shown
	Forecasts  bool             // the columns of forecasts are shown
	Find       string           // the text that is marked in the rows; "": none
	Rows       []Row            // as List returns them
	Sparks     *Sparks          // the sparklines of earlier frames

	columns []Column // set by Render
}

// First returns the index of the first row in view, so that the cursor stays on its line; 0 without a cursor.
func (t *Table) First(room int) int {
	if !t.Cursor.Active {
		return 0
	}
	at := slices.IndexFunc(t.Rows, func(r Row) bool { return r.Process.ID == t.Cursor.ID })
	if at < 0 {
		return 0
	}
	line := min(max(t.Cursor.Line, 0), max(room-1, 0))
	return max(min(at-line, len(t.Rows)-room), 0)
}

// Render returns exactly height lines of exactly width cells.
func (t Table) Render(width, height int) []string {
	t.columns = columnsAt(width, t.box())
	out := make([]string, 0, height)
	l := cell.NewLine(width)
	if height > 0 {
		t.writeTitles(l)
		out = append(out, l.String())
	}
	room := height - len(out)
	first := t.First(room)
	for i := range room {
		l.Reset(width)
		if first+i < len(t.Rows) {
			out = append(out, t.render(l, &t.Rows[first+i]))
			continue
		}
		if i == 0 {
			l.Skip(1)
			l.Put(t.Appearance.Styles.Dim, cell.Fitting(t.nothing(), width-1))
		}
		out = append(out, l.String())
	}
	return out
}

// nothing returns why there is no row, the longest wording first.
func (t *Table) nothing() []string {
	whose := "no process"
	if t.Mine {
		whose += " of " + text.Clean(t.Snapshot.Host.User)
	}
	switch {
	case t.Filter != "":
		const all = "   Esc: all"
		return []string{whose + " matches " + text.Clean(t.Filter) + all, whose + " matches" + all, "none matches" + all}
	case t.Mine:
		return []string{whose + "   u: everybody's", "none   u: everybody's"}
	case t.Focus != nil:
		return []string{"no process here   Esc: all GPUs", "none   Esc: all GPUs"}
	case t.Snapshot.Driver.State != snapshot.DriverOK:
		return []string{""}
	case slices.ContainsFunc(t.Snapshot.GPUs, func(g snapshot.GPU) bool { return g.Unattributed.Or(0) >= quantity.GiB }):
		return []string{"the driver lists no process, though memory is used: it may hide them here", "processes are hidden here", "hidden"}
	default:
		return []string{"no process uses a GPU", "no process"}
	}
}

// writeTitles writes the column titles, and the sort marker right before the title of its column.
func (t *Table) writeTitles(l *cell.Line) {
	s, g := &t.Appearance.Styles, &t.Appearance.Glyphs
	order := t.Order()
	sorted := columnNamed(order.Column)
	marker := g.SortDown
	if order.Reversed {
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

// render draws a row: reversed under the cursor, dim if the process has ended, or else each figure in its style.
func (t *Table) render(l *cell.Line, r *Row) string {
	s := &t.Appearance.Styles
	at := t.Cursor.Active && r.Process.ID == t.Cursor.ID
	mark := " "
	switch {
	case t.Tags[r.Process.ID]:
		mark = "*"
	case at:
		mark = ">"
	}
	if at || r.Ended != nil {
		plain := *t.Appearance
		plain.Styles = themes.Styles{}
		reversed := *t
		reversed.Appearance = &plain
		l.Put(themes.Style{}, mark)
		reversed.writeRow(l, r, at)
		if at {
			return l.In(s.Cursor, s.Strong)
		}
		return l.In(s.Dim, s.Match)
	}
	l.Put(s.Strong, mark)
	t.writeRow(l, r, false)
	return l.String()
}

func (t *Table) writeRow(l *cell.Line, r *Row, atCursor bool) {
	if r.Ended != nil {
		t.writeEnded(l, r)
		return
	}
	words := t.partsWords(r.Process, atCursor)
	for i := 0; i < len(t.columns); i++ {
		c := &t.columns[i]
		if i > 0 {
			l.Skip(1)
		}
		if words != "" && c.id == columnAllocated {
			last := i // the last column that words can replace
			for last+1 < len(t.columns) && (t.columns[last+1].id == columnFragmented || t.columns[last+1].id == columnCached) {
				last++
			}
			if cells := t.span(i, last); cells >= len("no probe") {
				style := t.Appearance.Styles.Dim
				if p := r.Process.Probe; p != nil && (p.State == snapshot.ProbeSilent || p.Rejected != "") {
					style = t.Appearance.Styles.Warning
				}
				l.Left(style, words, cells, t.Appearance.Glyphs.Ellipsis)
				i = last
				continue
			}
		}
		t.writeCell(l, c, r)
	}
}

// span returns the cells from one column to another with the blanks between them.
func (t *Table) span(from, to int) int {
	cells := to - from
	for i := from; i <= to; i++ {
		cells += t.columns[i].cells
	}
	return cells
}

// partsWords returns the words that replace the figures of parts if the probe is silent or not believed. Under the
// cursor they also say that there is no probe or no allocator.
func (t *Table) partsWords(p *snapshot.Process, atCursor bool) string {
	if p.Probe != nil {
		if p.Probe.State == snapshot.ProbeSilent {
			return "probe silent " + quantity.Duration(p.Probe.Age)
		}
		if p.Probe.Claimed.Known() {
			return "unconfirmed"
		}
		if p.Probe.Rejected != "" {
			return "probe rejected"
		}
		if atCursor && p.Probe.State == snapshot.ProbeLive && len(p.Allocators) == 0 && !p.Allocated.Known() && !t.Past {
			return "no allocator yet"
		}
		return ""
	}
	if !atCursor || p.Allocated.Known() || p.ID.Process.Foreign() || !t.Snapshot.Own(p) {
		return ""
	}
	if t.Appearance.Keys != nil && t.Appearance.Keys.Has(keys.Attach) && !t.Past {
		return "no probe a:attach"
	}
	return "no probe"
}

// writeEnded writes how a process ended over the columns of endedRun, and of the other columns only those of names.
func (t *Table) writeEnded(l *cell.Line, r *Row) {
	first, end := t.endedRun()
	for i := 0; i < len(t.columns); i++ {
		c := &t.columns[i]
		if i > 0 {
			l.Skip(1)
		}
		switch {
		case i == first:
			cells := t.span(first, end-1)
			l.Left(t.Appearance.Styles.Dim, endedText(r.Ended, t.Now, cells), cells, t.Appearance.Glyphs.Ellipsis)
			i = end - 1
		case names(c.id):
			t.writeCell(l, c, r)
		default:
			l.Skip(c.cells)
		}
	}
}

// names reports whether a column identifies the process.
func names(id columnID) bool {
	return id == columnGPU || id == columnPID || id == columnUser || id == columnCommand
}

// endedRun returns the widest run of columns that do not identify the process.
func (t *Table) endedRun() (first, end int) {
	widest := 0
	for i := 0; i < len(t.columns); i++ {
		j := i
		for j < len(t.columns) && !names(t.columns[j].id) {
			j++
		}
		if j > i && t.span(i, j-1) > widest {
			first, end, widest = i, j, t.span(i, j-1)
		}
		i = max(i, j)
	}
	return first, end
}

// endedText returns how a process ended, as fully as fits.
func endedText(e *snapshot.EndedProcess, now time.Time, cells int) string {
	head := "ended " + quantity.Duration(now.Sub(e.Ended))
	was, colon, peak, short, long := "", "", "", "", ""
	if v, ok := e.Last.Used.Value(); ok {
		was, colon = ": was "+v.String(), ": "+v.String()
	}
	if v, ok := e.Last.Peak.Value(); ok {
		peak = ", peak " + v.String()
	}
	if n := e.OutOfMemoryCount.Or(0); n > 0 {
		count := string(cell.AppendInt(nil, int(min(n, 999))))
		short, long = ", OOM x"+count, ", out of memory x"+count+" (allocator)"
	}
	if status, ok := e.ExitStatus.Value(); ok {
		exit := ", exit " + string(cell.AppendInt(nil, status))
		short, long = short+exit, long+exit
	}
	return cell.Fitting([]string{head + " ago" + was + peak + long, head + colon + peak + short, head + colon + short, head + short}, cells)
}

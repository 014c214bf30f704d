package ui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"
	"vramscope/ui/gpus"
	"vramscope/ui/keys"
	"vramscope/ui/table"
)

// writeKeys writes the last line: the bound keys that fit and, at the right, the status.
func writeKeys(l *cell.Line, st *state, lk *cell.Appearance, lay *layout, t *table.Table) {
	status := keysStatus(st, lk, lay, t)
	gap := 2
	if st.width >= gpus.LegendWidth {
		gap = 3
	}
	var hints []keys.Hint
	if lk.Keys != nil {
		hints = keys.FitHints(st.hints(lk, lay), st.width-cell.SpansWidth(status)-4, gap)
	}
	s := &lk.Styles
	l.Skip(1)
	for i, h := range hints {
		if i > 0 {
			l.Skip(gap)
		}
		if st.greyed(h.Key) {
			l.Put(s.Dim, h.Key)
		} else {
			l.Put(s.Key, h.Key)
		}
		l.Skip(1)
		l.Put(s.Dim, h.Text)
	}
	l.To(l.Width() - cell.SpansWidth(status) - 1)
	l.PutSpans(status, l.Width(), "")
}

// hints returns the hints of the present scope. Without a table, the main screen has only those for ?, Enter and Esc.
func (st *state) hints(lk *cell.Appearance, lay *layout) []keys.Hint {
	if question, ok := st.overlay.(dialog.Question); ok {
		return question.Hints()
	}
	if menu, ok := st.overlay.(dialog.Menu); ok {
		return menu.MenuHints()
	}
	last := 0
	if st.shown != nil {
		last = lastIndex(st.shown)
	}
	hints := lk.Keys.Hints(st.scope(), !st.past.IsZero(), last)
	if st.scope() == keys.InDetail {
		return st.detailHints(hints)
	}
	if st.fills() || st.overlay != nil || st.scope() != keys.InMain {
		return hints
	}
	if lay.table.rows == 0 {
		hints = slices.DeleteFunc(hints, func(h keys.Hint) bool { return h.Key != "Enter" && h.Key != "?" })
		for i := range hints {
			if hints[i].Key == "Enter" {
				hints[i].Text = "processes"
			}
		}
	}
	// Esc comes early, and is left out late. If Esc only clears the cursor, it is left out early.
	atCursor := len(st.order) == 0 && !st.onGPUs && !st.onTable
	if words := st.undoes(); words != "" && (!atCursor || lay.table.rows > 0) {
		h := keys.Hint{Position: 2, Rank: 2, Key: "Esc", Text: words}
		if atCursor && !st.nested {
			h.Rank = 19
		}
		at := slices.IndexFunc(hints, func(h keys.Hint) bool { return h.Position > 1 })
		hints = slices.Insert(hints, max(at, 0), h)
	}
	return hints
}

func (st *state) detailHints(hints []keys.Hint) []keys.Hint {
	p := st.live.Row(st.Cursor.ID)
	kept := make([]keys.Hint, 0, len(hints))
	for _, h := range hints {
		switch h.Key {
		case "v":
			if st.inside != nil && st.inside.held == nil {
				h.Text = "graph"
			} else if !answers(p, keys.Map) || !st.past.IsZero() {
				continue
			}
		case "V":
			if st.inside != nil && st.inside.held != nil {
				h.Text = "hide"
			} else if !answers(p, keys.Holders) || !st.past.IsZero() {
				continue
			}
		case "r":
			if st.inside == nil {
				continue
			}
		case "z":
			if st.inside != nil && st.inside.held == nil {
				continue
			}
		case "a":
			if p == nil || p.Probe != nil || st.greyed("a") {
				continue
			}
		}
		kept = append(kept, h)
	}
	return kept
}

func (st *state) scope() keys.Scope {
	switch {
	case st.overlay != nil:
		return keys.InOverlay
	case st.page != nil:
		return keys.InPage
	case st.detail:
		return keys.InDetail
	case st.noDriver():
		return keys.InNoDriver
	default:
		return keys.InMain
	}
}

func keysStatus(st *state, lk *cell.Appearance, lay *layout, t *table.Table) []cell.Span {
	s := &lk.Styles
	var parts []cell.Span
	add := func(style *themes.Style, text string) {
		if text == "" {
			return
		}
		if len(parts) > 0 {
			parts = append(parts, cell.Span{s.Text, "  "})
		}
		parts = append(parts, cell.Span{*style, text})
	}
	if st.hidesHeader(lay) {
		for _, badge := range st.badges() {
			if badge != badgePast && badge != badgeFrozen { // liveness adds that word
				add(&s.Badge, badge)
			}
		}
	}
	inTable := lay.table.rows > 0 && !st.fills()
	if !st.fills() {
		add(&s.Dim, st.gpusInView(lk, lay))
	}
	if inTable {
		add(&s.Warning, st.narrowed())
		add(&s.Dim, inView(t, lay.rows()))
	}
	add(&s.Dim, st.pageInView(lk))
	if (inTable || st.fills()) && st.shown != nil && st.interval() > 0 {
		add(&s.Dim, quantity.BriefDuration(st.interval()))
	}
	style, text := st.liveness(lk)
	add(style, text)
	return parts
}

// gpusInView returns "28/32 GPU" where not all GPU lines are in view.
func (st *state) gpusInView(lk *cell.Appearance, lay *layout) string {
	room := lay.gpuLines()
	if st.shown == nil || st.noDriver() || room <= 0 {
		return ""
	}
	panel, seen := st.gpus(lk, lay), 0
	if len(panel.Lines) <= room {
		return ""
	}
	for _, line := range panel.Visible(room) {
		if line.Instance == nil {
			seen++
		}
	}
	if seen == len(st.shown.GPUs) {
		return ""
	}
	return strconv.Itoa(seen) + "/" + strconv.Itoa(len(st.shown.GPUs)) + " GPU"
}

func (st *state) narrowed() string {
	var words []string
	if f := st.Focus; f != nil {
		if gpu := st.shown.GPU(f.GPUUUID); gpu != nil {
			words = append(words, "GPU "+string(cell.AppendIndex(nil, gpu.Index, gpu.InstanceNumber(f.Instance))))
		}
	}
	if st.Mine {
		words = append(words, "mine")
	}
	if st.Filter != "" {
		words = append(words, "filter: "+text.Cut(text.Clean(st.Filter), 12, ""))
	}
	if st.fit != nil {
		words = append(words, "need "+text.Clean(st.need))
	}
	return strings.Join(words, " ")
}

func (st *state) liveness(lk *cell.Appearance) (*themes.Style, string) {
	s := &lk.Styles
	switch {
	case st.shown == nil:
		return &s.Dim, "STARTING"
	case !st.past.IsZero():
		return &s.Badge, badgePast
	case st.frozen:
		return &s.Badge, badgeFrozen
	case st.shown.Driver.State == snapshot.DriverStarting:
		return &s.Warning, "WAITING"
	case st.noDriver():
		return &s.Warning, "NO DRIVER"
	case st.behind():
		return &s.Warning, "LATE " + quantity.Duration(st.now.Sub(st.shown.Time))
	default:
		return &s.Text, "LIVE"
	}
}

// behind reports whether the newest figures are too old for the screen to be live.
func (st *state) behind() bool {
	late := st.now.Sub(st.shown.Time)
	return late > 3*st.shown.Interval && late > 3*time.Second
}

// interval returns the interval that was chosen last; in the past, or without a choice, that of the shown snapshot.
func (st *state) interval() time.Duration {
	if st.chosen > 0 && st.past.IsZero() {
		return st.chosen
	}
	return st.shown.Interval
}

// inView returns which rows of the table are in view: "1-12/13".
func inView(t *table.Table, room int) string {
	total, first := table.Recent(t.Rows), t.First(room)
	last := min(first+room, total)
	if total == 0 {
		return "0/0"
	}
	return strconv.Itoa(min(first+1, last)) + "-" + strconv.Itoa(last) + "/" + strconv.Itoa(total)
}

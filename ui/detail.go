package ui

import (
	"slices"
	"time"

	"vramscope/guard/advice"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/detail"
	"vramscope/ui/graph"
	"vramscope/ui/table"
)

// newDetail returns the detail of the row that detailed returns. With whole it fills the screen, and also has
// advice, holders and the map.
func newDetail(st *state, lk *cell.Appearance, rows []table.Row, whole bool) detail.Panel {
	in := detail.Input{Appearance: lk, Snapshot: st.shown, History: st.history, Now: cell.Moment(st.moment()), Width: st.width, Whole: whole}
	if st.shown == nil {
		return detail.New(in)
	}
	in.Row, in.NoDriver = detailed(st, rows), st.noDriver()
	if st.shown.AnyRow(in.Row) != nil {
		in.Graph = graphAbout(st, lk, graph.UsedBy(in.Row))
		in.Graph.Subject.Name = "used"
		if !whole { // beside the graph of the screen: this one covers a longer time
			in.Graph.Stacks, in.Graph.Window = st.stacks.Of(snapshot.SeriesKey{}), 2*time.Hour
			if in.Graph.At.Sub(in.Graph.Since) > in.Graph.Window {
				in.Graph.Window = 24 * time.Hour
			}
		}
	}
	if !whole {
		return detail.New(in)
	}
	if st.advised.row == in.Row {
		in.Advice = st.advised.line
	}
	if now := st.inside; now != nil && now.row == in.Row {
		if in.Held = now.held; in.Held == nil {
			in.Segments = &now.View
		}
	}
	return detail.New(in)
}

// detailed returns the row under the cursor, or else the row of the alert that alarmed returns, if it
// is listed, or else the first row.
func detailed(st *state, rows []table.Row) snapshot.RowID {
	if st.Cursor.Active {
		return st.Cursor.ID
	}
	if a := alarmed(st.headlines(), st.alert); a != nil && slices.ContainsFunc(rows, func(r table.Row) bool { return r.Process.ID == a.Row }) {
		return a.Row
	}
	if len(rows) > 0 {
		return rows[0].Process.ID
	}
	return snapshot.RowID{}
}

// advised is the best advice for a process at a moment. `vramscope advise` lists the rest,
// with prices and sources.
type advised struct {
	row  snapshot.RowID
	at   time.Time
	line string
}

// adviceEvery is the time between computations of the advice, whose rules read minutes and hours of history.
const adviceEvery = 10 * time.Second

func (m *model) keepAdvice() {
	st := &m.st
	if !st.detail || st.shown == nil {
		return
	}
	id, at := detailed(st, nil), st.moment()
	if id == st.advised.row && at.Sub(st.advised.at).Abs() < adviceEvery {
		return
	}
	st.advised = advised{row: id, at: at}
	in := advice.Input{Snapshot: st.shown, History: st.history}
	if now := st.inside; now != nil && now.row == id && now.held != nil && now.held.Found != nil {
		in.Held = now.held.Found.Classes
	}
	best := advice.Of(in, id)
	if len(best) == 0 {
		return
	}
	if bytes, ok := best[0].Bytes.Value(); ok && bytes >= quantity.MiB {
		st.advised.line = bytes.String() + "  "
	}
	st.advised.line += best[0].Text
}

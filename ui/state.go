// Package ui is the Bubble Tea program: it turns a Snapshot into a screen.
//
//	key, mouse, resize ─→ Update ─→ state
//	Snapshot (newest) ──→ Update ─→ state.live        frame(state) ─→ lines ─→ View
//
// Panels are values with Render(width, height); rectangles are computed once
// per resize (layout), styles once per theme. Update does no IO and View
// changes nothing: what costs time runs in a tea.Cmd, what acts on the box
// goes through Actions, which cli binds.
package ui

import (
	"time"

	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"
	"vramscope/ui/gpus"
	"vramscope/ui/table"
)

// panel is a rectangle of the screen: a value that draws itself. Render
// returns exactly height lines of exactly width cells.
type panel interface {
	Render(width, height int) []string
}

// state is what the keys have made of the screen. A frame is a pure function
// of a state, the glyphs and the styles: rendering changes nothing here, and
// only Update writes it.
type state struct {
	width, height int
	now           time.Time // of the last tick or key: what ages are measured from

	live  *snapshot.Snapshot // the newest; nil until the first arrives
	shown *snapshot.Snapshot // what is drawn: live, frozen, or rebuilt from the past

	history snapshot.History // what graphs and the spark column read; nil while there is none

	frozen bool      // p: the screen holds still, sampling goes on
	past   time.Time // not zero: looking back at this moment

	idleAfter time.Duration // a GPU that does nothing for longer is an idle holder
	readOnly  bool
	mouse     bool
	partsEver bool // a probe has been seen: the columns of parts are there, and stay

	table.Listing        // the rows of the table
	find          string // what n and N look for
	onGPUs        bool   // Tab: the movement keys walk the GPUs, not the rows
	onTable       bool   // Enter in a pane too small for both: the table stands in the place of the GPU lines
	gpuTop        int    // first GPU line in view where they do not all fit

	alert  int                 // which of the alerts is on the alert line
	pinned *snapshot.SeriesKey // what the graph holds on to (P); nil: follow
	window time.Duration       // the graph's, back from now

	detail   bool           // Enter: the process under the cursor has the whole screen above the alert line
	segments *segmentMap    // v: the map that stands in the place of the detail's graph; nil: the graph
	overlay  dialog.Overlay // help, events, environment or a dialog; nil: none
	prompt   panel          // one line of input (find, filter, interval) in the place of the keys line; nil: none

	progress     string // how far the action that is under way is; on the alert line until it has ended
	message      string // what the last action said; takes the alert line until messageUntil
	messageUntil time.Time
	hintOff      bool // Esc has dismissed the day-one hint
}

// table is the table of the shown snapshot, with its rows.
func (st *state) table(lk *cell.Appearance) table.Table {
	t := table.Table{
		Listing: st.Listing, Appearance: lk, Snapshot: st.shown, History: st.history,
		Now: st.moment(), Past: !st.past.IsZero(), Parts: st.partsShown(),
		Forecasts: st.shown != nil && st.shown.Forecasting || st.live != nil && st.live.Forecasting,
	}
	t.Rows = t.List()
	return t
}

// gpus is the lines of the GPUs in the shown snapshot.
func (st *state) gpus(lk *cell.Appearance, lay *layout) gpus.Panel {
	p := gpus.Panel{
		Appearance: lk, Snapshot: st.shown, Now: st.moment(), Instances: lay.instances, Parts: st.partsShown(),
		IdleAfter: st.idleAfter, Halves: lay.gpuColumns, Header: lay.gpuHeader, Top: st.gpuTop,
	}
	if st.Focus != nil {
		p.FocusGPU, p.FocusInstance = st.Focus.GPUUUID, st.Focus.Instance
	}
	p.Lines = p.List()
	return p
}

// partsShown reports whether the columns of parts are there: from the first
// probe on, for good.
func (st *state) partsShown() bool {
	return st.partsEver || st.shown != nil && st.shown.ProbeSeen || st.live != nil && st.live.ProbeSeen
}

// scene is what an overlay sees of the state.
func (st *state) scene() *dialog.Scene {
	return &dialog.Scene{Live: st.live, Shown: st.shown, History: st.history, Now: st.now, Past: st.past}
}

package ui

import (
	"time"

	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"
	"vramscope/ui/gpus"
	"vramscope/ui/graph"
	"vramscope/ui/table"
)

// state is what the screen shows. Begin and Update change it, and frame changes only its caches.
type state struct {
	width, height int
	now           time.Time // when the last snapshot, key, mouse event or clockMsg came

	live  *snapshot.Snapshot // the newest snapshot, in a replay the shown one; nil before the first
	shown *snapshot.Snapshot // live, frozen, or rebuilt from the history

	history snapshot.History // nil: there is none

	frozen bool      // p: the screen is frozen, sampling continues
	past   time.Time // the moment of the past that is shown or was asked for; zero: the present
	replay bool      // a recording is shown: there is no present

	idleAfter time.Duration // see Options
	readOnly  bool
	mouse     bool
	partsEver bool // a probe has been seen: the columns of parts stay

	table.Listing // what the user has chosen for the table
	sparks        table.Sparks
	holders       gpus.Holders
	find          string    // what n and N look for
	need          string    // H: the size of a job that is to fit; "": not asked
	fit           *gpus.Fit // whether need fits; nil: need is not a size
	onGPUs        bool      // Tab: the movement keys move among the GPUs
	onTable       bool      // Enter in a small pane: the table replaces the GPU lines
	gpuTop        int       // the first GPU line in view, of those that scroll
	order         []setting // the settings that Esc clears, in the order in which they were set

	lasts     lasts // memory that flushes are likely to keep free
	incidents incidents

	alert  int                 // index of the alert on the alert line
	pinned *snapshot.SeriesKey // P: the series that the graph keeps showing; nil: none
	window time.Duration       // how far back the graph reaches; 0: automatic
	stacks *graph.Stacks       // caches of the graphs
	lines  bool                // Z: the graph has only curves, no areas

	page    *snapshot.Place // i: the GPU whose page fills the screen above the alert line; nil: none
	pageTop int             // lines of the page that are scrolled away

	detail  bool           // Enter: the detail fills the screen above the alert line
	advised advised        // the best advice for the process of the detail
	inside  *inside        // v, V: the map or the holders in the detail; nil: neither
	overlay dialog.Overlay // nil: none
	typing  *typing        // the line being typed, in place of the keys line; nil: none

	progress     string // how far the running action is, on the alert line until it ends
	message      string // about the last key or action, on the alert line until messageUntil
	messageUntil time.Time
	chosen       time.Duration // the interval last asked for; 0: none
	hintOff      bool          // the hint about probes is not shown
	nested       bool          // another screen has opened this one; Esc returns to it
}

func (st *state) table(lk *cell.Appearance) *table.Table {
	t := &table.Table{
		Listing: st.Listing, Appearance: lk, Snapshot: st.shown, History: st.history,
		Now: st.moment(), Past: !st.past.IsZero(), Parts: st.partsShown(), Find: st.find, Sparks: &st.sparks,
		Forecasts: st.shown != nil && st.shown.Forecasting || st.live != nil && st.live.Forecasting,
	}
	t.Rows = t.List()
	return t
}

func (st *state) gpus(lk *cell.Appearance, lay *layout) gpus.Panel {
	p := gpus.Panel{
		Appearance: lk, Snapshot: st.shown, Now: st.moment(), Instances: lay.instances, Parts: st.partsShown(),
		IdleAfter: st.idleAfter, Halves: lay.gpuColumns, Header: lay.gpuHeader, Top: st.gpuTop, Holders: &st.holders,
	}
	if st.fit != nil {
		p.Fit = &st.fit.Report
	}
	if st.Focus != nil {
		p.Focus = *st.Focus
	}
	p.Lines = p.List()
	return p
}

// partsShown reports whether the columns of parts are shown: a probe has been seen.
func (st *state) partsShown() bool {
	return st.partsEver || st.shown != nil && st.shown.ProbeSeen || st.live != nil && st.live.ProbeSeen
}

// screen returns the part of the state that overlays see.
func (st *state) screen() *dialog.Screen {
	return &dialog.Screen{Live: st.live, Shown: st.shown, History: st.history, Now: st.now, Past: st.past}
}

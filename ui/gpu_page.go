package ui

import (
	"slices"
	"strconv"

	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/gpupage"
	"vramscope/ui/gpus"
)

// fills reports whether the detail or a GPU's page replaces header, GPU lines and table.
func (st *state) fills() bool { return st.detail || st.page != nil }

func (st *state) gpuPage(lk *cell.Appearance) gpupage.Page {
	page := st.page
	return gpupage.Page{
		Appearance: lk, Snapshot: st.shown, Place: *page, Now: cell.Moment(st.moment()), Top: st.pageTop,
		Graph: graphAbout(st, lk, snapshot.SeriesKey{Metric: metric.Used, GPUUUID: page.GPUUUID, Instance: page.Instance}),
	}
}

// pageInView returns "1-22/40" where the page does not fit the screen, else "".
func (st *state) pageInView(lk *cell.Appearance) string {
	if st.page == nil || st.shown == nil {
		return ""
	}
	lay := arrange(st.width, st.height, st.box())
	page, rows := st.gpuPage(lk), lay.page().rows
	total := page.Lines(st.width, rows)
	if total <= rows {
		return ""
	}
	top := min(max(st.pageTop, 0), total-rows)
	return strconv.Itoa(top+1) + "-" + strconv.Itoa(top+rows) + "/" + strconv.Itoa(total)
}

// togglePage closes the open page, or else opens one: of the GPU of the process in the detail or, without a detail,
// of the GPU that the graph would show without a pin.
func (m *model) togglePage() bool {
	switch {
	case m.st.shown == nil:
		return false
	case m.st.page != nil:
		return m.back()
	}
	key := followedUnpinned(&m.st)
	focus := snapshot.Place{GPUUUID: key.GPUUUID, Instance: key.Instance}
	if m.st.detail {
		id := detailed(&m.st, m.table().Rows)
		focus = snapshot.Place{GPUUUID: id.GPUUUID, Instance: id.Instance}
	}
	if m.st.shown.GPU(focus.GPUUUID) == nil {
		return m.say("no GPU to show")
	}
	m.st.page, m.st.pageTop = &focus, 0
	return true
}

func (m *model) walkPages(by int) bool {
	panel := gpus.Panel{Snapshot: m.st.shown, Instances: true}
	all := panel.List()
	if len(all) == 0 {
		return false
	}
	at := max(slices.IndexFunc(all, func(line gpus.Line) bool { return line.Place() == *m.st.page }), 0)
	m.st.page, m.st.pageTop = new(all[(at+by+len(all))%len(all)].Place()), 0
	return true
}

func (m *model) scrollPage(by int) bool {
	open, lay := m.st.gpuPage(&m.look), m.layout()
	rows := lay.page().rows
	to := min(max(m.st.pageTop+by, 0), max(open.Lines(m.st.width, rows)-rows, 0))
	changed := to != m.st.pageTop
	m.st.pageTop = to
	return changed
}

// wantDetails calls Options.Details when a page has been opened or closed.
func (m *model) wantDetails() {
	if wanted := m.st.page != nil; wanted != m.details && m.options.Details != nil {
		m.details = wanted
		m.options.Details(wanted)
	}
}

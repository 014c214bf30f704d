package ui

import (
	"slices"
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/gpus"
	"vramscope/ui/keys"
)

// dayOne reports whether to show the hint about probes: no probe was seen, no incident is unread, Esc has not hidden it.
func (st *state) dayOne(lk *cell.Appearance) bool {
	return !st.hintOff && len(st.incidents.unread) == 0 && !st.partsShown() && len(st.shown.Rows) > 0 && lk.Keys != nil
}

// writeDayOne says how to get a probe, in the first wording that fits.
func writeDayOne(l *cell.Line, st *state, lk *cell.Appearance) {
	s := &lk.Styles
	var owners []cell.Span
	if l.Width() < gpus.LegendWidth {
		panel := st.gpus(lk, &layout{})
		owners = append(panel.OwnerLegend(), cell.Span{s.Text, "   "})
	}
	unknown := []cell.Span{{s.Dim, "parts unknown: "}}
	run := []cell.Span{{s.Dim, `start jobs with "`}, {s.Key, "vramscope run -- CMD"}, {s.Dim, `"`}}
	ways := run
	if lk.Keys.Has(keys.Attach) {
		ways = slices.Concat(run, []cell.Span{{s.Dim, ", or "}, {s.Key, "a"}, {s.Dim, " on a Python process"}})
	}
	l.Skip(1)
	for _, wording := range [...][]cell.Span{
		slices.Concat(owners, unknown, ways), slices.Concat(owners, ways), slices.Concat(owners, unknown, run), slices.Concat(owners, run), slices.Concat(owners, run[1:2]), ways, run, run[1:2],
	} {
		if cell.SpansWidth(wording) < l.Width() {
			l.PutSpans(wording, l.Width(), "")
			return
		}
	}
}

// writeLegend explains the bars. If the GPU header does so, or an incident is unread, it writes sums of the box instead.
func writeLegend(l *cell.Line, st *state, lk *cell.Appearance) {
	l.Skip(1)
	if l.Width() < gpus.LegendWidth {
		if unread := st.unreadSpans(&lk.Styles); unread != nil {
			l.PutSpans(slices.Concat(boxSums(st.shown, st.lasts, nil, &lk.Styles)[:4], unread), l.Width(), lk.Glyphs.Ellipsis)
			return
		}
		panel := st.gpus(lk, &layout{})
		panel.WriteLegend(l, l.Width()-2)
		return
	}
	l.PutSpans(boxSums(st.shown, st.lasts, st.unreadSpans(&lk.Styles), &lk.Styles), l.Width(), "")
}

// lasts is the memory that flushes of all processes would free and that is likely to stay free.
type lasts struct {
	at   time.Time // when free was computed
	free quantity.Bytes
}

// sumLasting renews lasts every ten seconds, the length of the buckets that estimates are made from.
func (st *state) sumLasting() {
	const bucket = 10 * time.Second
	if age := st.shown.Time.Sub(st.lasts.at); age >= 0 && age < bucket {
		return
	}
	st.lasts = lasts{at: st.shown.Time}
	for i := range st.shown.Rows {
		if p := &st.shown.Rows[i]; p.Returnable.Or(0) > 0 {
			st.lasts.free += snapshot.LastingOf(st.history, st.shown.Time, p).Min
		}
	}
}

func boxSums(shown *snapshot.Snapshot, lasting lasts, unread []cell.Span, s *themes.Styles) []cell.Span {
	var used, total, free, reserved quantity.Bytes
	idle, unknown := 0, 0
	for i := range shown.GPUs {
		gpu := &shown.GPUs[i]
		held, known := gpu.Memory.Used.Value()
		size, sized := gpu.Memory.Total.Value()
		if gpu.State != snapshot.GPUOK || !known || !sized {
			unknown++ // in neither sum
			continue
		}
		used, total, reserved = used+held, total+size, reserved+gpu.Memory.Reserved.Or(0)
		free += gpu.Memory.Free.Or(max(size-gpu.Memory.Reserved.Or(0)-held, 0))
		if u, ok := gpu.Utilization.Value(); ok && u == 0 && gpu.Memory.Used.Or(0) > quantity.GiB {
			idle++
		}
	}
	parts := []cell.Span{
		{s.Text, used.String()}, {s.Dim, " of "}, {s.Text, total.String()}, {s.Dim, " used   "},
		{s.Text, free.String()}, {s.Dim, " free"},
	}
	if unread != nil {
		parts = append(append(parts, cell.Span{s.Dim, "   "}), unread...)
	}
	add := func(there bool, before, figure, after string) {
		if there {
			parts = append(parts, cell.Span{s.Dim, "   " + before}, cell.Span{s.Text, figure}, cell.Span{s.Dim, after})
		}
	}
	add(reserved > 0, "", reserved.String(), " reserved")
	add(lasting.free >= snapshot.LeastRemedy, "flushes keep ", lasting.free.About(), " free")
	add(unknown > 0, "", text.Plural(unknown, "GPU", "GPUs"), " unknown")
	add(idle > 0, "", text.Plural(idle, "GPU", "GPUs"), " idle but holding memory")
	add(shown.ProbesUnasked > 0, "", strconv.Itoa(shown.ProbesUnasked), " not asked for a probe yet")
	return parts
}

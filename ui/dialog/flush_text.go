package dialog

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/action/flush"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

func (d Flush) form(width int) form {
	s := &d.look.Styles
	out := form{look: d.look, title: "Flush: free cached memory"}
	if len(d.targets) == 1 {
		t := &d.targets[0]
		out.lines = d.who(t)
		inner := min(width, dialogWidth) - 4
		switch reason := d.refusal(t); {
		case reason != "" && d.Willing() == 0:
			out.refuse("Cannot flush", inner+1, reason)
			return out
		case reason != "":
			out.add("It can free no cached memory: "+reason+".", inner)
		default:
			out.lines = append(out.lines, d.nowAndAfter(t, inner)...)
			out.lines = append(out.lines, d.labelled("stays free", d.staysFree(t)), d.labelled("cost", cell.Span{s.Text, d.cost(t)}))
			const factsLine, nowLine, staysLine, costLine = 1, 2, 4, 5
			out.drop = []int{factsLine, nowLine, costLine, staysLine}
		}
		for _, note := range d.notes {
			out.add(text.Clean(note), inner)
		}
	} else {
		out.title += ", " + strconv.Itoa(d.Willing()) + " of " + strconv.Itoa(len(d.targets)) + " tagged"
		out.lines = d.list()
		for i := len(out.lines) - 3; i > 1; i-- { // lines of the list itself, except its first row
			out.drop = append(out.drop, i)
		}
		if d.Willing() == 0 {
			out.buttons = []button{{"Esc", "close"}}
			return out
		}
	}
	out.choices = d.choices()
	out.chosen = slices.IndexFunc(out.choices, d.isChosen)
	out.buttons = []button{{"y", map[bool]string{true: "ask it", false: "flush"}[flush.OfServer(d.Level())]}, {"d", "dry run"}, {"Esc", "cancel"}}
	return out
}

// labelled returns "cost        …".
func (d Flush) labelled(label string, s cell.Span) []cell.Span {
	return []cell.Span{{d.look.Styles.Dim, text.Pad(label, flushLabel)}, s}
}

const flushLabel = 12

func (d Flush) who(t *flushTarget) [][]cell.Span {
	s, p := &d.look.Styles, &t.row
	first := nameOf(d.look, p)
	if p.Runtime != "" {
		first = append(first, cell.Span{s.Dim, "  " + text.Clean(strings.TrimRight(p.Runtime+" "+p.RuntimeVersion, " "))})
	}
	facts := append([]string{"GPU " + strconv.Itoa(p.GPU)}, startAndJob(d.now, p)...)
	return [][]cell.Span{first, {{s.Text, strings.Join(facts, ", ")}}}
}

// nowAndAfter returns the bars before and after the flush, on the scale of the memory used now.
func (d Flush) nowAndAfter(t *flushTarget, inner int) [][]cell.Span {
	s, p := &d.look.Styles, &t.row
	parts := cell.ProcessParts(p)
	scale, word := p.Used.Or(0), "used "
	if scale <= 0 {
		word = "holds "
		for _, part := range parts {
			scale += max(part, 0)
		}
	}
	freed := min(p.Frees(), scale)
	after := parts
	const returnablePart = 4
	after[returnablePart] = max(after[returnablePart]-freed, 0)

	texts := [2]string{word + scale.String(), word + (scale - freed).String() + ", frees " + d.amount(t)}
	const maxCells, minCells = 38, 8
	cells := min(inner-flushLabel-2-max(text.Width(texts[0]), text.Width(texts[1])), maxCells)
	lines := make([][]cell.Span, 2)
	for i, label := range []string{"now", "after"} {
		lines[i] = []cell.Span{{s.Dim, text.Pad(label, flushLabel)}}
		if cells >= minCells {
			bar := [...]cell.Parts{parts, after}[i]
			lines[i] = append(append(lines[i], bar.Spans(d.look, scale, cells)...), cell.Span{s.Text, "  "})
		}
		lines[i] = append(lines[i], cell.Span{s.Text, texts[i]})
	}
	return lines
}

// amount returns what the chosen level frees, and on how many GPUs if on several.
func (d Flush) amount(t *flushTarget) string {
	text := t.row.ReturnableBound().Amount(d.frees(t))
	if d.Level() == flush.Urgent && t.gpus > 1 {
		text += " on " + strconv.Itoa(t.gpus) + " GPUs"
	}
	return text
}

// cost returns what the flush costs the program, the main thing first: a narrow screen cuts the end off.
func (d Flush) cost(t *flushTarget) string {
	switch {
	case t.gpus > 1 || t.ranks:
		return "its job's other GPUs may wait for it: it waits for its streams"
	case d.Level() == flush.Urgent:
		return "it waits for all its streams, then as s"
	case d.Level() == flush.Selective && len(t.row.Evictable) > 0:
		return "what it evicts must be filled again; a slow step or two"
	default:
		return "a slow step or two: its next allocations go to the driver"
	}
}

// choices returns the levels with what each would free, and what the server can be asked to do.
func (d Flush) choices() []choice {
	var sum quantity.Bytes
	var runtime string
	var evictable []snapshot.Evictable
	bound, parts, pytorch := snapshot.Exactly, true, true
	for i := range d.targets {
		t := &d.targets[i]
		if d.refusal(t) != "" {
			continue
		}
		sum += t.row.Frees()
		bound = bound.And(t.row.ReturnableBound())
		parts = parts && t.row.FlushesInParts()
		pytorch = pytorch && t.row.Runtime == "PyTorch"
		if !t.row.FlushesInParts() {
			runtime = text.Clean(t.row.Runtime)
		}
		if !slices.ContainsFunc(d.targets[:i], func(o flushTarget) bool { return o.row.ID.Process == t.row.ID.Process }) { // rows of one process have the same caches
			evictable = addCaches(evictable, t.row.Evictable)
		}
	}
	frees := bound.Amount(sum)

	gradual := frees + " in steps; Esc stops between two of them"
	switch {
	case sum <= 0:
		gradual = frees + " in one step"
	case !parts:
		if runtime == "" {
			runtime = "its allocator"
		}
		gradual = frees + " in one step: " + runtime + " cannot free a part"
	}
	selective := frees + " at once; no caches to evict"
	if len(evictable) > 0 {
		words, sizes := cell.CachesInWords(evictable, d.look.Glyphs.Dash, func(*snapshot.Evictable) string { return "" })
		selective = frees + " or more: evicts " + words + map[bool]string{false: " (size unknown)"}[sizes]
	}
	urgent := "on all its GPUs: as s, and what else it can collect"
	if pytorch {
		urgent = "on all its GPUs: as s, and gc, cuFFT plans, IPC handles"
	}
	all := []choice{
		{"g", string(flush.Gradual), gradual}, {"s", string(flush.Selective), selective}, {"u", string(flush.Urgent), urgent}, d.server,
	}
	switch {
	case d.server.name == "":
		return all[:3]
	case d.refusal(&d.targets[0]) != "":
		return all[3:]
	}
	return all
}

// addCaches adds caches up by name; an unknown size makes the sum unknown.
func addCaches(sum, caches []snapshot.Evictable) []snapshot.Evictable {
	for _, cache := range caches {
		cache.Name = text.Clean(cache.Name)
		at := slices.IndexFunc(sum, func(c snapshot.Evictable) bool { return c.Name == cache.Name })
		switch {
		case at < 0:
			sum = append(sum, cache)
		case !cache.Bytes.Known():
			sum[at].Bytes = cache.Bytes
		case sum[at].Bytes.Known():
			sum[at].Bytes = quantity.Sum(sum[at].Bytes, cache.Bytes)
		}
	}
	return sum
}

// listedAtMost is how many of the tagged processes are listed if more than one would be left out.
const listedAtMost = 4

// list returns lines for the first processes, and the sum of all.
func (d Flush) list() [][]cell.Span {
	s, g := &d.look.Styles, &d.look.Glyphs
	var lines [][]cell.Span
	var sum, stays quantity.Bytes
	known, atMost, unknown := true, false, false
	for i := range d.targets {
		t := &d.targets[i]
		after, freed, stay, text, style := g.Dash, g.Dash, g.Dash, cell.ShortCommand(&t.row), s.Text
		if reason := d.refusal(t); reason != "" {
			text, style = "no: "+reason, s.Warning
		} else if t.unknown() {
			unknown = true
		} else {
			sum += t.row.Frees()
			freed = t.row.Frees().String()
			if used, ok := t.row.Used.Value(); ok {
				after = (used - t.row.Frees()).String()
			}
			switch l := snapshot.LastingOf(d.history, time.Time(d.now), &t.row); {
			case !l.Known:
				known = false
			case l.Min < l.Max:
				stays, stay, atMost = stays+l.Max, "<"+l.Max.About(), true
			default:
				stays, stay = stays+l.Max, l.Max.String()
			}
		}
		line := flushLine(d.look, strconv.Itoa(t.row.ID.Process.PID), cell.UserName(&t.row), strconv.Itoa(t.row.GPU),
			g.Bytes(t.row.Used), after, freed, stay)
		lines = append(lines, []cell.Span{{s.Text, line}, {style, text}})
	}
	if more := len(lines) - listedAtMost; more > 1 {
		lines = append(lines[:listedAtMost], []cell.Span{{s.Dim, flushLine(d.look, "", "", "", "", "", "", "") + "and " + strconv.Itoa(more) + " more"}})
	}
	head := []cell.Span{{s.Header, flushLine(d.look, "PID", "USER", "GPU", "USED", "AFTER", "FREED", "STAYS") + "COMMAND"}}
	sumFreed, sumStays := sum.String(), g.Dash
	switch {
	case unknown && sum <= 0:
		sumFreed = g.Dash
	case known && atMost:
		sumStays = "<" + stays.About()
	case known:
		sumStays = stays.String()
	}
	total := flushLine(d.look, "", "sum", "", "", "", sumFreed, sumStays)
	lines = append(append([][]cell.Span{head}, lines...), []cell.Span{{s.Strong, total}})
	return append(lines, nil)
}

func flushLine(lk *cell.Appearance, pid, user, gpu, used, after, freed, stays string) string {
	right := func(s string, cells int) string { return strings.Repeat(" ", max(cells-text.Width(s), 0)) + s }
	return right(pid, 7) + " " + text.Pad(text.Cut(user, 8, lk.Glyphs.Ellipsis), 8) + " " + right(gpu, 3) + " " +
		right(used, 5) + " " + right(after, 5) + " " + right(freed, 5) + " " + right(stays, 5) + "  "
}

// staysFree returns how much of the freed memory should stay free.
func (d Flush) staysFree(t *flushTarget) cell.Span {
	s := &d.look.Styles
	l := snapshot.LastingOf(d.history, time.Time(d.now), &t.row)
	switch {
	case t.unknown():
		return cell.Span{s.Dim, "unknown"}
	case !l.Known:
		return cell.Span{s.Dim, "unknown: not watched for long enough"}
	case l.Max <= 0:
		return cell.Span{s.Warning, "none: it needs it back within 5m"}
	case l.Min < l.Max:
		return cell.Span{s.Text, l.AtLeast() + " if its highest peak, " + (t.row.Allocated.Or(0) + l.Ever).String() + ", comes again, else up to " + l.AtMost(d.frees(t))}
	case l.Needs() <= 0:
		return cell.Span{s.Text, "all of it, if it goes on as in the last " + cell.CoarseDuration(l.Seen)}
	default:
		return cell.Span{s.Text, "about " + l.Max.About() + ": it needs " + l.Needs().String() + " back within 5m"}
	}
}

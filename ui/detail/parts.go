package detail

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// The cells of a part's line: its name, its amount, its share.
const (
	partName  = 11
	partBytes = 5
	partShare = 6
)

// parts returns used memory and its parts, each with its share and a note.
func (d Panel) parts(width int) []string {
	s, p := &d.Appearance.Styles, d.process
	lines := []string{d.usedLine(width)}
	if !p.Allocated.Known() && !p.Cached.Known() && !p.Fragmented.Known() {
		note := "contents unknown: only a probe reports them"
		switch {
		case p.Probe != nil && p.Probe.Claimed.Known():
			note = "unconfirmed: " + cmp.Or(p.Probe.Rejected, "reports "+p.Probe.Claimed.Or(0).String())
		case p.Probe != nil && p.Probe.Rejected != "":
			note = "probe rejected: " + p.Probe.Rejected
		case p.Probe != nil && p.Probe.State != snapshot.ProbeSilent && len(p.Allocators) == 0:
			note = "contents unknown: its probe sees no allocator in use"
		case p.Probe != nil:
			note = "contents unknown until its probe answers again"
		case !p.Used.Known() && d.NoDriver:
			note = "no driver reports how much it uses"
		case !p.Used.Known() && d.away:
			note = "its GPU does not answer"
		case !p.Used.Known():
			note = "the driver does not report how much it uses"
		}
		return append(lines, d.part(width, "unknown", s.Unknown, p.Used, note))
	}
	other := "context, kernels, NCCL (used - reserved)"
	otherStyle := s.Other
	if v, ok := p.Other.Value(); ok && v < 0 {
		other, otherStyle = "parts exceed used by "+(-v).String()+": probe and driver disagree", s.Warning
	} else if !ok && slices.ContainsFunc(p.Allocators, func(a snapshot.Allocator) bool { return !a.Reserved.Known() && !a.Cached.Known() }) {
		other = "and what is cached, which " + cmp.Or(p.Runtime, "its library") + " does not report"
	} else if !ok && p.Used.Known() {
		other = "skew: driver and probe were read at different moments"
	}
	lines = append(lines,
		d.part(width, "alloc", s.AllocatedName, p.Allocated, d.allocatedNote()),
		d.part(width, "cached", s.Returnable, p.Cached, d.cachedNote()),
		d.part(width, "frag", s.Fragmented, p.Fragmented, d.fragmentedNote()),
		d.part(width, "other", otherStyle, p.Other, other),
	)
	var managed snapshot.Bytes
	for i := range p.Allocators {
		managed = quantity.Sum(managed, p.Allocators[i].Managed)
	}
	for _, part := range []struct { // written without a share of used memory
		name, note string
		bytes      snapshot.Bytes
	}{
		{"asleep", "takes no memory until it wakes up", p.Asleep},
		{"managed", "shared with the host; what of it is on the GPU is in other", managed},
	} {
		if part.bytes.Or(0) > 0 {
			lines = append(lines, d.named(width, part.name, s.Dim, part.bytes, "", part.note))
		}
	}
	return lines
}

// usedLine returns the total with its bar, on the scale of used memory.
func (d Panel) usedLine(width int) string {
	p := d.process
	l := d.line(width)
	d.figures(l, "used", d.Appearance.Styles.Strong, p.Used, d.share(p.Used.Or(0)))
	parts := cell.ProcessParts(p)
	scale := p.Used.Or(0)
	if scale <= 0 {
		for _, part := range parts {
			scale += max(part, 0)
		}
	}
	if cells := width - l.Used() - 1; scale > 0 && cells >= 8 {
		l.Bar(d.Appearance, parts, scale, cells)
	}
	return l.String()
}

// part returns "alloc      52.9G   75%  note".
func (d Panel) part(width int, name string, style themes.Style, amount snapshot.Bytes, note string) string {
	return d.named(width, name, style, amount, d.share(amount.Or(0)), note)
}

func (d Panel) named(width int, name string, style themes.Style, amount snapshot.Bytes, share, note string) string {
	l := d.line(width)
	d.figures(l, name, style, amount, share)
	l.PutSpans([]cell.Span{{d.Appearance.Styles.Text, note}}, width, d.Appearance.Glyphs.Ellipsis)
	return l.String()
}

func (d Panel) figures(l *cell.Line, name string, style themes.Style, amount snapshot.Bytes, share string) {
	s, g := &d.Appearance.Styles, &d.Appearance.Glyphs
	l.Skip(1)
	l.Left(style, name, partName, "")
	if !amount.Known() {
		l.Right(s.Dim, g.Dash, partBytes)
		l.Skip(partShare + 2)
		return
	}
	figure := s.Text
	if p := d.process.Probe; p != nil && p.State != snapshot.ProbeLive && amount.Source() == quantity.Probe {
		figure = s.Dim
	}
	l.Right(figure, amount.Or(0).String(), partBytes)
	l.Right(s.Dim, share, partShare)
	l.Skip(2)
}

// share returns an amount in per cent of used, "" if that is unknown.
func (d Panel) share(amount quantity.Bytes) string {
	used := d.process.Used.Or(0)
	if used <= 0 || amount < 0 {
		return ""
	}
	percent := math.Round(float64(amount) / float64(used) * 100)
	return strconv.FormatFloat(min(percent, 999), 'f', 0, 64) + "%"
}

func (d Panel) allocatedNote() string {
	var facts []string
	if demand := d.demand(); demand.Known {
		facts = append(facts, "peak "+demand.Peak.String()+" in "+cell.CoarseDuration(demand.Seen))
	}
	var pending, ever snapshot.Bytes
	for i := range d.process.Allocators {
		pending = quantity.Sum(pending, d.process.Allocators[i].Pending)
	}
	// Several allocators have their peaks at different moments, so there is no sum.
	if len(d.process.Allocators) == 1 {
		ever = d.process.Allocators[0].PeakAllocated
	}
	if v, ok := ever.Value(); ok && v > 0 {
		switch text := v.String() + " ever"; {
		case len(facts) == 0:
			facts = append(facts, "peak "+text)
		case !strings.HasPrefix(facts[0], "peak "+v.String()+" "):
			facts = append(facts, text)
		}
	}
	if v, ok := pending.Value(); ok && v > 0 {
		facts = append(facts, "pending "+v.String())
	}
	return strings.Join(facts, ", ")
}

// cachedNote says what a flush frees, and how much of that should stay free.
func (d Panel) cachedNote() string {
	p := d.process
	returnable, ok := p.Returnable.Value()
	switch cached := p.Cached.Or(0); {
	case !ok || cached <= 0 && returnable <= 0:
		return ""
	case returnable <= 0:
		return "none of it is freed while the process runs"
	}
	note := "returnable "
	if d.ended == nil && d.Appearance.Keys.Has(keys.Flush) && (p.Probe == nil || !p.Probe.ByDaemon) {
		note = "F frees "
	}
	note += p.ReturnableBound().Amount(returnable)
	if d.ended != nil {
		return note
	}
	switch l := snapshot.LastingOf(d.History, time.Time(d.Now), p); {
	case !l.Known:
		return note
	case l.Max <= 0:
		return note + "; it needs it back within 5m"
	case l.Min < l.Max:
		return note + "; " + l.AtLeast() + " to " + l.AtMost(returnable) + " should stay free"
	case l.Max >= returnable:
		return note + "; all of it should stay free"
	default:
		return note + "; about " + l.Max.About() + " should stay free"
	}
}

func (d Panel) fragmentedNote() string {
	basis := snapshot.Basis("")
	for i := range d.process.Allocators {
		a := &d.process.Allocators[i]
		if a.Basis == "" || a.Basis == basis {
			continue
		}
		if basis != "" {
			return "as each allocator defines it"
		}
		basis = a.Basis
	}
	switch basis {
	case "stranded":
		if where := d.splitSegments(); where != "" && !d.Whole {
			return "inactive split" + where
		}
		return "inactive split blocks" + d.splitSegments()
	case "largest_free":
		return "free, but not in the largest block"
	case "post_flush":
		if d.process.Fragmented.Known() {
			return "what the last flush could not free"
		}
		return "known only after a flush: what it could not free"
	default:
		return ""
	}
}

// splitSegments returns ", in 212 of 812 segments", if that is known.
func (d Panel) splitSegments() string {
	var split, segments quantity.Optional[int64]
	for i := range d.process.Allocators {
		if a := &d.process.Allocators[i]; a.StrandedSegments.Known() {
			split, segments = quantity.Sum(split, a.StrandedSegments), quantity.Sum(segments, a.Segments)
		}
	}
	v, ok := split.Value()
	all, known := segments.Value()
	if !ok || !known || v > all {
		return ""
	}
	return ", in " + strconv.FormatInt(v, 10) + " of " + strconv.FormatInt(all, 10) + " segments"
}

package why

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// Line is a line of the page.
type Line struct {
	Text    string
	Heading bool
}

// Page lays an explanation out for a width in cells.
func Page(e *Evidence, v *Verdict, width int) []Line {
	p := page{width: max(width, 20)}
	p.text(fmt.Sprintf("%s  %s  %s", e.Event.Time.Format(time.DateTime), e.Place, text.Clean(e.GPU)))
	p.text(eventSentence(e))
	if where := e.Where(); where != "" {
		p.text("The line: " + where + ".")
	}
	if e.Rescue != "" {
		p.text("The guard was asked: " + text.Clean(e.Rescue) + ".")
	}
	p.heading("VERDICT: " + v.Cause.Title())
	for _, reason := range v.Reasons {
		p.text(reason)
	}
	for _, missing := range v.Missing {
		p.text("Not known: " + missing + ".")
	}
	p.heading("WHAT WOULD HAVE HELPED")
	for i := range v.Advice {
		p.text(v.Advice[i].Words())
	}
	p.text(v.None)
	if f := e.Event.OutOfMemory; f != nil && f.Trace != "" && len(e.Replayed) == 0 {
		p.text("Other settings, when it has ended:")
		p.lines = append(p.lines, Line{Text: fmt.Sprintf("  vramscope why %d --trace %s", e.Event.Row.Process.PID, text.ShellQuote(text.Clean(f.Trace)))}) // a long line, not wrapped, so that it can be copied
	}
	p.evidence(e)
	if held, rest := e.held(); len(held) > 0 {
		p.heading(fmt.Sprintf("WHAT HELD THE %s ALLOCATED", rest))
		for i := range held {
			rest -= held[i].Bytes
			p.figure(heldBy(&held[i]), quantity.From(held[i].Bytes, quantity.Probe), "")
		}
		p.figure("unnamed (gradients, activations, …)", computed(max(rest, 0)), "")
	}
	return p.lines
}

func eventSentence(e *Evidence) string {
	sentence := nameOf(&e.Process)
	requested, known := e.Requested.Value()
	switch {
	case !known:
		sentence += " ran out of GPU memory"
	case e.Free.Known():
		sentence += fmt.Sprintf(" asked for %s; %s%s was free", requested, wordsIf(e.FreeAbout, "about "), e.Free.Or(0))
	default:
		sentence += fmt.Sprintf(" asked for %s and did not get it", requested)
	}
	if f := e.Event.OutOfMemory; f != nil && f.API != "" {
		sentence += " (" + text.Clean(f.API)
		if f.Library != "" {
			sentence += ", called by " + text.Clean(f.Library)
		}
		sentence += ")"
	}
	if e.Later > exitTime {
		return sentence + fmt.Sprintf(". It went on for %s at least.", e.Later.Round(time.Second))
	}
	return sentence + "."
}

type page struct {
	width int
	lines []Line
}

func (p *page) heading(title string) {
	p.lines = append(p.lines, Line{}, Line{Text: title, Heading: true})
}

func (p *page) text(s string) {
	for _, line := range text.Wrap(s, p.width, "  ") {
		p.lines = append(p.lines, Line{Text: line})
	}
}

func (p *page) evidence(e *Evidence) {
	p.heading("THE DEVICE THEN")
	p.figure("total", quantity.Sum(e.Capacity, computed(e.Driver.Or(0))), "")
	p.figure("reserved by the driver", e.Driver, "")
	p.figure("free", e.Free, wordsIf(e.FreeAbout, "about "))
	p.figure("limit of the allocator", e.Limit, "")
	p.figure("limit as a client of MPS", e.MPSLimit, "")
	p.figure(nameOf(&e.Process), e.Used, wordsIf(e.UsedLeast, "at least "))
	p.figure("  reserved by its allocator", e.Reserved, "")
	p.figure("  alloc", e.Allocated, "")
	if e.Reserved.Known() && e.Allocated.Known() {
		p.figure("  reserved, not allocated", computed(e.Reserved.Or(0)-e.Allocated.Or(0)), "")
	}
	p.figure("  largest free block", e.LargestFree, "")
	for i := range e.Neighbours {
		n := &e.Neighbours[i].Process
		p.figure(nameOf(n), n.Used, "")
		p.figure("  alloc", n.Allocated, "")
		p.figure("  cached", n.Cached, "")
		if used, known := n.Used.Value(); known && len(e.Neighbours[i].Used) > 1 {
			first := e.Neighbours[i].Used[0]
			p.text(fmt.Sprintf("  %s since %s", change(first.Used, used), first.Time.Format(time.TimeOnly)))
		}
		if i == 7 && len(e.Neighbours) > 8 {
			p.text(fmt.Sprintf("and %d more processes", len(e.Neighbours)-8))
			break
		}
	}
	if e.Unequal != "" {
		p.text("Unequal shares: " + e.Unequal + ".")
	}
	if at, later := e.sampledBefore(); later {
		p.text(fmt.Sprintf("The other processes' figures are of %s, before the error: since then memory has moved.", at.Format(time.TimeOnly)))
	}
	if len(e.Recent) > 1 {
		first, last := e.Recent[0], e.Recent[len(e.Recent)-1]
		if first.Used.Known() && last.Used.Known() {
			p.text(fmt.Sprintf("%s: %s since %s", nameOf(&e.Process), change(first.Used.Or(0), last.Used.Or(0)), first.Time.Format(time.TimeOnly)))
		}
	}
	if steps, ok := e.Steps.Value(); ok {
		p.text(fmt.Sprintf("training steps from its first to its last sample: %d", steps))
	}
	if f := e.Event.OutOfMemory; f != nil && f.Config != "" {
		p.text("settings: " + text.Clean(f.Config))
	}
}

// figure writes a row of the table. It leaves out a row with an unknown figure if the name is
// indented or begins with "limit".
func (p *page) figure(name string, value snapshot.Bytes, prefix string) {
	shown := "–"
	if v, ok := value.Value(); ok {
		shown = prefix + v.String()
	} else if strings.HasPrefix(name, "  ") || strings.HasPrefix(name, "limit") {
		return
	}
	name = text.Cut(name, p.width-12, "…")
	p.lines = append(p.lines, Line{Text: name + strings.Repeat(" ", max(min(p.width, 60)-text.Width(name)-text.Width(shown), 2)) + shown})
}

// Words returns "11.8G  a flush of eval.py (PID 12): vramscope flush 12; not enough alone. Price: …."
func (a *Advice) Words() string {
	line := fmt.Sprintf("%s  %s", a.Bytes.Or(0), a.Text)
	if !a.Enough {
		line += "; not enough alone"
	}
	if a.Price != "" {
		line += ". Price: " + a.Price
	}
	return line + "."
}

func change(from, to quantity.Bytes) string {
	switch {
	case to > from:
		return fmt.Sprintf("+%s, from %s to %s", to-from, from, to)
	case to < from:
		return fmt.Sprintf("-%s, from %s to %s", from-to, from, to)
	default:
		return "unchanged"
	}
}

func wordsIf(is bool, words string) string {
	if is {
		return words
	}
	return ""
}

// nameOf names a process: "train.py (PID 4711, alice)".
func nameOf(p *snapshot.Process) string {
	name := cmp.Or(text.Clean(p.ProgramName()), "a process")
	if p.User == "" {
		return fmt.Sprintf("%s (PID %d)", name, p.ID.Process.PID)
	}
	return fmt.Sprintf("%s (PID %d, %s)", name, p.ID.Process.PID, text.Clean(p.User))
}

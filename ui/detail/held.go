package detail

import (
	"math"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/segments"
)

// Held is the answer to V: the holders of the process's memory.
type Held struct {
	Found *snapshot.Held // nil while the probe has not answered
	Asked time.Time
	*segments.View
}

// heldName is the cells of a class's name.
const heldName = 16

// held returns the holders of the allocated memory. Each bar begins where the bar above ends:
//
//	── holders of 62.1G allocated, 23:48:57, 2s ago ───────── r: again   V: hide ──
//	 parameters       14.0G   23%  █████████
//	 optimizer state  28.0G   45%           ██████████████████
//	 unnamed          20.1G   32%                             ▄▄▄▄▄▄▄▄▄▄▄▄
//	 no step of an optimizer ended meanwhile: gradients and activations stay unnamed
func (d Panel) held(width int) []string {
	s, h, found := &d.Appearance.Styles, d.Held, d.Held.Found
	title, right := "holders", []cell.Span{{s.Key, "r"}, {s.Dim, ": again   "}, {s.Key, "V"}, {s.Dim, ": hide"}}
	if h.Asking {
		right = append([]cell.Span{{s.Dim, "asking   "}}, right[2:]...)
	}
	if found == nil {
		style, words := s.Dim, "asking its probe what holds its memory"
		if waited := d.Now.Since(h.Asked).Truncate(time.Second); h.Refusal != "" {
			style, words = s.Warning, h.Refusal
		} else if waited >= time.Second {
			words = "waiting for a step, " + quantity.Duration(waited) + ": what a step holds is known when it ends (15s at most)"
		}
		return append([]string{cell.TitledRule(d.Appearance, width, title, s.Title, right)}, d.wrapped(width, noteLines, style, words)...)
	}
	title += " of " + found.Allocated.String() + " allocated, " + d.Now.Clock(found.Time)
	if ago := d.Now.Since(found.Time); ago >= time.Second {
		title += ", " + quantity.Duration(ago) + " ago"
	}
	lines := []string{cell.TitledRule(d.Appearance, width, title, s.Title, right)}
	var before quantity.Bytes
	for i, class := range found.Classes {
		if class.Bytes > 0 || i == len(found.Classes)-1 {
			lines = append(lines, d.heldLine(width, class, i, before, found.Allocated))
		}
		before += class.Bytes
	}
	for _, note := range found.Notes {
		lines = append(lines, d.wrapped(width, noteLines, s.Dim, d.Appearance.Glyphs.Words(cell.Limit(note)))...)
	}
	return lines
}

// heldLine returns a class's line; i is its index among the classes, the last of which is unnamed.
func (d Panel) heldLine(width int, class snapshot.HeldClass, i int, before, all quantity.Bytes) string {
	s, inks := &d.Appearance.Styles, d.Appearance.Inks()
	ink := cell.Span{s.Owners[i%len(s.Owners)], inks[2].Text}
	if i == len(d.Held.Found.Classes)-1 {
		ink = inks[1]
	}
	share := ""
	if all > 0 {
		share = strconv.FormatFloat(math.Round(100*float64(class.Bytes)/float64(all)), 'f', 0, 64) + "%"
	}
	l := d.line(width)
	l.Skip(1)
	l.Left(s.Text, strings.ReplaceAll(d.Appearance.Glyphs.Words(cell.Limit(class.Class)), "_", " "), heldName, d.Appearance.Glyphs.Ellipsis)
	l.Right(s.Text, class.Bytes.String(), partBytes)
	l.Right(s.Dim, share, partShare)
	l.Skip(2)
	cells := width - l.Used() - 1
	if start := cell.Boundary(float64(before), all, cells); cells > 0 {
		l.Skip(start)
		l.Repeat(ink.Style, ink.Text, cell.Boundary(float64(before+class.Bytes), all, cells)-start)
	}
	return l.String()
}

const noteLines = 3

func (d Panel) wrapped(width, maxLines int, style themes.Style, words string) []string {
	var lines []string
	for _, line := range cell.Wrap(words, max(width-2, 1), maxLines, d.Appearance.Glyphs.Ellipsis) {
		lines = append(lines, d.text(width, cell.Span{style, line}))
	}
	return lines
}

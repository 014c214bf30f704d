package dialog

import (
	"strings"

	"vramscope/recording/why"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// Why explains an out-of-memory event.
type Why struct {
	page
	event    snapshot.Event
	list     *Events // shown again when the Why closes; nil: none
	evidence *why.Evidence
	verdict  why.Verdict
}

// NewWhy waits for the explanation, which Fill adds.
func NewWhy(lk *cell.Appearance, event snapshot.Event) Why {
	return Why{page: page{look: lk}, event: event}
}

// Event returns the event that it explains.
func (w Why) Event() *snapshot.Event { return &w.event }

// Fill returns the panel with the explanation.
func (w Why) Fill(e *why.Evidence, v why.Verdict) Why {
	w.evidence, w.verdict = e, v
	return w
}

// Text returns the page as it is saved, "" before it is known.
func (w Why) Text() string {
	if w.evidence == nil {
		return ""
	}
	const width = 78 // as vramscope why writes it
	var text strings.Builder
	for _, line := range why.Page(w.evidence, &w.verdict, width) {
		text.WriteString(line.Text + "\n")
	}
	return text.String()
}

// Follow keeps the list up to date; the explanation is made once.
func (w Why) Follow(now *Screen) Overlay {
	if w.list != nil {
		list := w.list.following(now)
		w.list = &list
	}
	return w
}

// Size implements Overlay: all lines, so that the frame stays when the page comes.
func (w Why) Size(int) int { return allLines }

func (w Why) Press(name string, width, height int) (Overlay, Outcome) {
	if w.look.Keys.Match(name, keys.InOverlay, false) == keys.Back || name == "q" || name == "enter" {
		if w.list == nil {
			return w, Closed
		}
		return *w.list, Handled
	}
	if name == "w" && w.evidence != nil {
		return w, Saved
	}
	var out Outcome
	w.page, out = w.press(name, len(w.content(width)), height-2)
	return w, out
}

func (w Why) Render(width, height int) []string {
	b := w.box("Why it ran out of memory", w.content(width), height)
	b.right = "w saves, " + b.right
	return b.Render(width, height)
}

func (w Why) content(width int) [][]cell.Span {
	s := &w.look.Styles
	if w.evidence == nil {
		return [][]cell.Span{{{s.Dim, "reading the history"}}}
	}
	lines := w.picture(width - 3)
	for _, line := range why.Page(w.evidence, &w.verdict, width-3) {
		style := s.Text
		if line.Heading {
			style = s.Title
		}
		lines = append(lines, []cell.Span{{style, w.look.Glyphs.Words(line.Text)}})
	}
	return lines
}

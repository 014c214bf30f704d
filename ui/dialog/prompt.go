package dialog

import (
	"slices"
	"sort"
	"strings"
	"unicode"

	"vramscope/internal/text"
	"vramscope/themes"
	"vramscope/ui/cell"
)

// Prompt is a line of input in place of the keys line. The textinput of bubbles measures text with go-runewidth, which
// disagrees with terminals about widths, and imports a clipboard package that searches PATH at each start.
type Prompt struct {
	look  *cell.Appearance
	label string // "find", "filter"
	text  []rune
	at    int // the insertion point, in runes
}

// maxPrompt is the maximum number of runes, also of a paste.
const maxPrompt = 200

// NewPrompt returns a prompt with a text that may be edited.
func NewPrompt(lk *cell.Appearance, label, text string) Prompt {
	p := Prompt{look: lk, label: label}
	return p.Insert(text)
}

func (p Prompt) Value() string { return string(p.text) }

// Insert inserts the printable part of the first line of a text.
func (p Prompt) Insert(s string) Prompt {
	s, _, _ = strings.Cut(s, "\n")
	var fresh []rune
	for _, r := range s {
		if text.Printable(r) && len(p.text)+len(fresh) < maxPrompt {
			fresh = append(fresh, r)
		}
	}
	p.text = slices.Insert(slices.Clone(p.text), p.at, fresh...)
	p.at += len(fresh)
	return p
}

// Press takes a key: its name, and the text that it types.
func (p Prompt) Press(name, text string) (Prompt, Outcome) {
	switch name {
	case "enter":
		return p, Confirmed
	case "esc", "ctrl+g":
		return p, Closed
	case "left", "ctrl+b":
		p.at = max(p.at-1, 0)
	case "right", "ctrl+f":
		p.at = min(p.at+1, len(p.text))
	case "home", "ctrl+a":
		p.at = 0
	case "end", "ctrl+e":
		p.at = len(p.text)
	case "backspace", "ctrl+h":
		if p.at == 0 {
			if len(p.text) == 0 {
				return p, Closed // as in less and vi
			}
			return p, Handled
		}
		return p.without(p.at-1, p.at), Handled
	case "delete", "ctrl+d":
		return p.without(p.at, min(p.at+1, len(p.text))), Handled
	case "ctrl+u":
		return p.without(0, p.at), Handled
	case "ctrl+k":
		return p.without(p.at, len(p.text)), Handled
	case "ctrl+w":
		from := p.at
		for from > 0 && unicode.IsSpace(p.text[from-1]) {
			from--
		}
		for from > 0 && !unicode.IsSpace(p.text[from-1]) {
			from--
		}
		return p.without(from, p.at), Handled
	default:
		if text == "" {
			return p, Ignored
		}
		return p.Insert(text), Handled
	}
	return p, Handled
}

// without removes runes and moves the insertion point there.
func (p Prompt) without(from, to int) Prompt {
	p.text = slices.Delete(slices.Clone(p.text), from, to)
	p.at = from
	return p
}

// Render returns exactly height lines of exactly width cells. The insertion point is always in view.
func (p Prompt) Render(width, height int) []string {
	if width <= 0 || height <= 0 {
		return cell.Blank(max(width, 0), height)
	}
	s := &p.look.Styles
	l := cell.NewLine(width)
	l.Put(s.Text, " ")
	l.Put(s.Key, p.label)
	l.Put(s.Text, " ")
	hints := []cell.Span{{s.Key, "Enter"}, {s.Dim, " keep  "}, {s.Key, "Esc"}, {s.Dim, " cancel "}}
	room := width - l.Used() - 1
	if room-cell.SpansWidth(hints)-2 >= 20 {
		room -= cell.SpansWidth(hints) + 2
	} else {
		hints = nil
	}
	p.field(l, s, room)
	if hints != nil {
		l.Skip(width - cell.SpansWidth(hints) - l.Used())
		l.PutSpans(hints, width, "")
	}
	return cell.Fill([]string{l.String()}, width, height)
}

// field writes the text, scrolled to the insertion point, where the rune is reversed.
func (p Prompt) field(l *cell.Line, s *themes.Styles, room int) {
	room = max(room, 1)
	before := p.text[:p.at]
	before = before[sort.Search(len(before), func(i int) bool { return text.Width(string(before[i:])) <= room-1 }):]
	l.Put(s.Text, string(before))
	left := room - text.Width(string(before))
	if p.at == len(p.text) {
		l.Put(s.Cursor, " ")
		return
	}
	current := string(p.text[p.at])
	l.Put(s.Cursor, text.Cut(current, left, ""))
	l.Put(s.Text, text.Cut(string(p.text[p.at+1:]), left-text.Width(current), p.look.Glyphs.Ellipsis))
}

package terminal

import (
	"strings"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"vramscope/internal/text"
)

type cell struct {
	glyph rune // continuation, at the right half of a wide glyph
	style styleID
}

const continuation rune = 0

var blank = cell{glyph: ' '}

// styleID numbers styles; 0 is plain text.
type styleID uint16

// styles are the styles that have occurred, by number. A theme has some dozens.
type styles struct {
	ids   map[string]styleID // by the sequences that set a style
	all   []uv.Style
	turns map[[2]styleID]string // the sequences from one style to another
}

// id returns the number of the style that sequences set, 0 when there are too many styles.
func (s *styles) id(sequences string) styleID {
	if id, ok := s.ids[sequences]; ok {
		return id
	}
	if len(s.all) > 1<<16-1 {
		return 0
	}
	var style uv.Style
	parser := ansi.NewParser()
	for rest := sequences; rest != ""; {
		_, _, n, _ := ansi.DecodeSequence(rest, 0, parser)
		uv.ReadStyle(parser.Params(), &style)
		rest = rest[n:]
	}
	id := styleID(len(s.all))
	s.ids[strings.Clone(sequences)] = id // a clone, because sequences is part of a frame
	s.all = append(s.all, style)
	return id
}

func (s *styles) turn(from, to styleID) string {
	sequence, ok := s.turns[[2]styleID{from, to}]
	if !ok {
		sequence = uv.StyleDiff(&s.all[from], &s.all[to])
		s.turns[[2]styleID{from, to}] = sequence
	}
	return sequence
}

// onBlanks reports whether a style is visible on a blank: a background, reverse video or a line.
func (s *styles) onBlanks(id styleID) bool {
	style := &s.all[id]
	return style.Bg != nil || style.Underline != ansi.UnderlineNone || style.Attrs&(uv.AttrReverse|uv.AttrStrikethrough) != 0
}

// read turns a line of a frame into cells. The line is cleaned text with SGR sequences; other sequences are left out.
func (s *styles) read(line string, row []cell) {
	at, style, sequence := 0, styleID(0), ""
	for len(line) > 0 && at < len(row) {
		c := line[0]
		if c == '\x1b' {
			n := sequenceLength(line)
			switch open := line[:n]; {
			case open == "\x1b[m" || open == "\x1b[0m":
				style, sequence = 0, ""
			case sequence == "" && s.ids[open] != 0: // occurred before
				style, sequence = s.ids[open], open
			case strings.HasPrefix(open, "\x1b[") && open[n-1] == 'm' && strings.Trim(open[2:n-1], "0123456789;:") == "":
				sequence += open
				style = s.id(sequence)
			}
			line = line[n:]
			continue
		}
		glyph, size := rune(c), 1
		if c >= utf8.RuneSelf {
			glyph, size = utf8.DecodeRuneInString(line)
		}
		switch cells := text.Width(line[:size]); {
		case glyph == ' ' && !s.onBlanks(style):
			row[at] = blank
			at++
		case cells == 1:
			row[at] = cell{glyph, style}
			at++
		case cells == 2 && at+1 < len(row):
			row[at], row[at+1] = cell{glyph, style}, cell{continuation, style}
			at += 2
		}
		line = line[size:]
	}
	for ; at < len(row); at++ {
		row[at] = blank
	}
}

// sequenceLength returns the length of the escape sequence that a line starts with.
func sequenceLength(line string) int {
	if len(line) < 2 || line[1] != '[' {
		return min(2, len(line))
	}
	for i := 2; i < len(line); i++ {
		if line[i] >= 0x40 && line[i] <= 0x7e {
			return i + 1
		}
	}
	return len(line)
}

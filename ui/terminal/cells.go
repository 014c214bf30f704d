package terminal

import (
	"strings"
	"unicode/utf8"

	"vramscope/internal/text"
)

// cell is what one cell of the screen shows.
type cell struct {
	glyph rune // continuation at the right half of a wide glyph
	style styleID
}

// continuation is the right half of a wide glyph.
const continuation rune = 0

// blank is a cell that was erased.
var blank = cell{glyph: ' '}

// styleID numbers the escape sequences that styles are made of; 0 is plain text.
type styleID uint16

// styles are the sequences that have been met, by number. A theme has some dozens.
type styles struct {
	ids       map[string]styleID
	sequences []string
	onBlanks  []bool // the style shows on a blank: a background, reverse, a line
}

func newStyles() styles {
	return styles{ids: map[string]styleID{"": 0}, sequences: []string{""}, onBlanks: []bool{false}}
}

// id is the number of a sequence.
func (s *styles) id(sequence string) styleID {
	if id, ok := s.ids[sequence]; ok {
		return id
	}
	if len(s.sequences) > 1<<16-1 {
		return 0
	}
	sequence = strings.Clone(sequence) // it is part of a frame
	id := styleID(len(s.sequences))
	s.ids[sequence] = id
	s.sequences = append(s.sequences, sequence)
	s.onBlanks = append(s.onBlanks, showsOnBlanks(sequence))
	return id
}

// showsOnBlanks reports whether a style other than the foreground is set: see
// SGR in https://invisible-island.net/xterm/ctlseqs/ctlseqs.html.
func showsOnBlanks(sequence string) bool {
	for part := range strings.SplitSeq(sequence, "\x1b[") {
		parameters := strings.Split(strings.TrimSuffix(part, "m"), ";")
		for i := 0; i < len(parameters); i++ {
			switch parameters[i] {
			case "", "0", "1", "2", "3", "22", "23", "39":
			case "30", "31", "32", "33", "34", "35", "36", "37", "90", "91", "92", "93", "94", "95", "96", "97":
			case "38": // 38;5;n or 38;2;r;g;b
				if i+1 < len(parameters) && parameters[i+1] == "5" {
					i += 2
				} else {
					i += 4
				}
			default:
				return true
			}
		}
	}
	return false
}

// read turns a line of a frame into cells. A line is text that text.Clean has seen,
// with SGR sequences between; anything else is left out.
func (s *styles) read(line string, row []cell) {
	at, style, sequence := 0, styleID(0), ""
	for len(line) > 0 && at < len(row) {
		c := line[0]
		if c == '\x1b' {
			n := sequenceLength(line)
			if open := line[:n]; strings.HasPrefix(open, "\x1b[") && open[n-1] == 'm' && strings.Trim(open[2:n-1], "0123456789;:") == "" {
				switch {
				case open == "\x1b[m" || open == "\x1b[0m":
					sequence = ""
				case sequence == "":
					sequence = open
				default:
					sequence += open
				}
				style = s.id(sequence)
			}
			line = line[n:]
			continue
		}
		glyph, size := rune(c), 1
		if c >= utf8.RuneSelf {
			glyph, size = utf8.DecodeRuneInString(line)
		}
		switch cells := cellsOf(glyph, line[:size]); {
		case glyph == ' ' && !s.onBlanks[style]:
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

// sequenceLength is the length of the escape sequence that a line starts with.
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

// cellsOf is how many cells a glyph takes.
func cellsOf(glyph rune, encoded string) int {
	if certain(glyph) {
		return 1
	}
	return text.Width(encoded)
}

// certain reports whether all terminals agree that a glyph takes one cell: ASCII, and
// the signs that the screen itself draws (dashes, arrows, boxes, blocks, Braille). A
// terminal that draws those wide is shown ASCII only.
func certain(glyph rune) bool {
	return glyph >= ' ' && glyph < 0x7f || glyph >= 0x2010 && glyph <= 0x2027 || glyph >= 0x2190 && glyph <= 0x21ff ||
		glyph >= 0x2500 && glyph <= 0x25ff && glyph != 0x25fd && glyph != 0x25fe || glyph >= 0x2800 && glyph <= 0x28ff
}

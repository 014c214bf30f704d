package segments

import (
	"strconv"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
)

// The cells before a strip: fate, size, number, sum.
const (
	fateCells  = 10
	countCells = 6
	sizeCells  = 5
)

// sizedWidth is the least width of a panel whose labels have room for sizes.
const sizedWidth = 80

// strips draws the bands with the smallest unit at which they fit into body rows, and returns the unit.
func (p Panel) strips(width, body int) ([]string, quantity.Bytes) {
	left := 1 + fateCells + 1 + countCells + 1 + sizeCells + 2
	const spare = 3
	bands := p.Map.byFate
	sized := width >= sizedWidth && len(p.Map.bySize)+spare <= body // a row for each size
	if sized {
		bands, left = p.Map.bySize, left+sizeCells+1
	}
	named := width-left-1 >= 2*left/3
	if !named {
		left = 1
	}
	strip := max(width-left-1, 1)
	unit := unitFor(bands, strip, max(body, 1))
	var rows []string
	apart := body-rowsOf(bands, unit, strip) >= len(p.Map.byFate)-1
	for i := range bands {
		b := &bands[i]
		cells := b.cells(unit, strip)
		begins := i == 0 || bands[i-1].fate != b.fate
		if apart && i > 0 && begins {
			rows = append(rows, strings.Repeat(" ", width))
		}
		for at := 0; at == 0 || at < len(cells); at += strip {
			l := cell.NewLine(width)
			if named && at == 0 {
				p.label(l, b, begins, sized)
			}
			l.To(left)
			p.strip(l, cells[min(at, len(cells)):min(at+strip, len(cells))])
			rows = append(rows, l.String())
		}
	}
	return rows, unit
}

// label writes " frag       20.0M   ×212 7.40G  ".
func (p Panel) label(l *cell.Line, b *band, first, sized bool) {
	s := &p.Appearance.Styles
	l.Skip(1)
	name := ""
	if first {
		name = b.fate.String()
	}
	l.Left(p.fateStyle(b.fate), name, fateCells, "")
	l.Skip(1)
	if sized {
		size := b.min.String()
		if b.min != b.max {
			size = sizeClass(b.min)
		}
		l.Right(s.Dim, size, sizeCells)
		l.Skip(1)
	}
	l.Right(s.Dim, p.Appearance.Glyphs.Times+strconv.Itoa(len(b.segments)), countCells)
	l.Skip(1)
	l.Right(s.Text, b.sums.total().String(), sizeCells)
	l.Skip(2)
}

// sizeClass returns the lower bound of sizes of one power of two: "64M+".
func sizeClass(size quantity.Bytes) string {
	class := minUnit
	for class*2 <= size {
		class *= 2
	}
	text := class.String()
	if i := strings.IndexByte(text, '.'); i > 0 {
		text = text[:i] + text[len(text)-1:]
	}
	return text + "+"
}

func (p Panel) fateStyle(f fate) themes.Style {
	s := &p.Appearance.Styles
	switch f {
	case fateFragmented, fatePrivate:
		return s.Fragmented
	case fateCached:
		return s.Returnable
	default:
		return s.AllocatedName
	}
}

func (p Panel) strip(l *cell.Line, cells []mapCell) {
	for i := 0; i < len(cells); {
		end := i + 1
		for end < len(cells) && cells[end] == cells[i] {
			end++
		}
		if cells[i] == cellGap {
			l.Skip(end - i)
		} else {
			style, glyph := p.ink(snapshot.BlockState(cells[i]))
			l.Repeat(style, glyph, end-i)
		}
		i = end
	}
}

func (p Panel) ink(state snapshot.BlockState) (themes.Style, string) {
	inks := p.Appearance.Inks()
	switch state {
	case snapshot.BlockPending:
		return p.Appearance.Styles.Allocated, p.Appearance.Glyphs.Pending
	case snapshot.BlockCached:
		return inks[4].Style, inks[4].Text
	case snapshot.BlockFragmented:
		return inks[3].Style, inks[3].Text
	default:
		return inks[2].Style, inks[2].Text
	}
}

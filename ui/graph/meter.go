package graph

import (
	"math"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// Meter draws a share over time, from 0 to 100 %, filled from below.
type Meter struct {
	Graph // its Subject is not used
	Key   snapshot.SeriesKey
	Name  string
	Now   snapshot.Int
}

// Render returns exactly height lines of exactly width cells.
func (m Meter) Render(width, height int) []string {
	s, g := &m.Appearance.Styles, &m.Appearance.Glyphs
	columns, rows := width-leftCells-rightCells, height-1
	now := string(cell.AppendPercent(nil, m.Now, g.Dash))
	if rows < 1 || columns < 8 {
		return cell.Fill([]string{cell.TitledRule(m.Appearance, width, m.Name+" "+now, s.Title, nil)}, width, height)
	}
	m.Window = m.WindowFor(MinHeight)
	title := m.Name + " " + now + ", " + quantity.BriefDuration(m.Window) + " back"
	lines := []string{cell.TitledRule(m.Appearance, width, title, s.Title, nil)}
	values := m.series(m.Key, columns, most)
	l := cell.NewLine(width)
	for row := range rows {
		l.Reset(width)
		l.Skip(1)
		label := ""
		switch {
		case row == 0:
			label = "100"
		case row == rows-1:
			label = "0"
		case rows%2 == 1 && row == rows/2 && rows > 3:
			label = "50"
		}
		l.Right(s.Dim, label, labelCells)
		l.Put(s.Rule, g.Side)
		bottom := float64(rows - 1 - row)
		for _, v := range values {
			glyph := m.glyph(v/100*float64(rows)-bottom, bottom == 0)
			if glyph == " " {
				l.Skip(1)
			} else {
				l.Repeat(s.History, glyph, 1)
			}
		}
		lines = append(lines, l.String())
	}
	if !known(values) {
		l.Reset(width)
		words := text.Cut("nothing was measured", width, "")
		l.Skip((width - text.Width(words)) / 2)
		l.Put(s.Dim, words)
		lines[1+rows/2] = l.String()
	}
	return cell.Fill(lines, width, height)
}

// glyph fills a part of a cell. A measured 0 leaves a trace in the bottom row.
func (m Meter) glyph(part float64, bottom bool) string {
	if math.IsNaN(part) || part < 0 || part == 0 && !bottom {
		return " "
	}
	if m.Appearance.Glyphs.ASCII {
		switch {
		case part >= .75:
			return "#"
		case part >= .25:
			return ":"
		default:
			return "."
		}
	}
	return eighths[min(max(int(math.Round(part*8)), 1), 8)]
}

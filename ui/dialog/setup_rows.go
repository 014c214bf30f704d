package dialog

import (
	"slices"

	"vramscope/internal/quantity"
	"vramscope/themes"
)

const valueCells = 18

// row is a setting: its name, its value and how it is changed.
type row struct {
	name, value, help string
	change            func(s *Settings, by int)
}

func (d Setup) rows() []row {
	s := &d.settings
	sorts := make([]string, len(d.choices.Sort))
	for i, c := range d.choices.Sort {
		sorts[i] = c.Name
	}
	rows := []row{
		{"Theme", s.Theme, "colours", func(s *Settings, by int) { s.Theme = next(themes.Names(), s.Theme, by) }},
		{"Interval", quantity.BriefDuration(s.Interval), "time between samples",
			func(s *Settings, by int) { s.Interval = next(d.choices.Intervals, s.Interval, by) }},
		{"Sort by", s.Sort, "column of the table", func(s *Settings, by int) { s.Sort, s.Reversed = next(sorts, s.Sort, by), false }},
		{"Order", word(s.Reversed, "reversed", "usual"), "usual: numbers from the largest, names from A", func(s *Settings, _ int) { s.Reversed = !s.Reversed }},
		{"Graph", word(s.Lines, "lines", "area"), "areas of the parts, or lines alone", func(s *Settings, _ int) { s.Lines = !s.Lines }},
		{"Window", word(s.Window == 0, "auto", quantity.BriefDuration(s.Window)), "how far back the graph reaches",
			func(s *Settings, by int) { s.Window = next(d.choices.Windows, s.Window, by) }},
		{"Mouse", word(s.Mouse, "on", "off"), "click and wheel; then hold Shift to select text", func(s *Settings, _ int) { s.Mouse = !s.Mouse }},
		{"Bell", word(s.Bell, "on", "off"), "rings for a new red alert", func(s *Settings, _ int) { s.Bell = !s.Bell }},
	}
	if s.Interval == 0 {
		rows = slices.Delete(rows, 1, 2)
	}
	return rows
}

func word(is bool, yes, no string) string { return map[bool]string{true: yes, false: no}[is] }

// next returns the value after or before another in a list, around its ends.
func next[T comparable](list []T, now T, by int) T {
	if len(list) == 0 {
		return now
	}
	return list[(slices.Index(list, now)+by+len(list))%len(list)]
}

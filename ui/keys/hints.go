package keys

import (
	"slices"
	"strconv"

	"vramscope/internal/text"
)

// Hints returns the hints of a scope by position; last is the highest index of a GPU.
func (b *Bindings) Hints(where Scope, past bool, last int) []Hint {
	found := make([]Hint, 0, 24)
	for i := range b.All {
		if past && b.All[i].acts {
			continue
		}
		if past && b.All[i].ID == Back10s {
			if timeHint.scope&where != 0 {
				found = append(found, timeHint)
			}
			continue
		}
		for _, h := range b.All[i].hints {
			if h.scope&where == 0 {
				continue
			}
			if b.All[i].ID == GPU {
				h.Key = "0"
				if last > 0 {
					h.Key += "-" + strconv.Itoa(min(last, 9))
				}
			}
			found = append(found, h)
		}
	}
	slices.SortStableFunc(found, func(a, b Hint) int { return a.Position - b.Position })
	return found
}

// timeHint lists the keys that move through time. In the past it takes the place of the keys that act.
var timeHint = Hint{moments, 4, 4, ", . < > { } [ ] @", "time"}

// FitHints keeps the hints of the lowest ranks, as many as fit into room cells, so that a wider screen never shows fewer
// hints.
func FitHints(hints []Hint, room, gap int) []Hint {
	ranked := slices.Clone(hints)
	slices.SortStableFunc(ranked, func(a, b Hint) int { return a.Rank - b.Rank })
	used := -gap
	for i, h := range ranked {
		used += gap + text.Width(h.Key) + 1 + text.Width(h.Text)
		if used > room {
			ranked = ranked[:i]
			break
		}
	}
	return slices.DeleteFunc(slices.Clone(hints), func(h Hint) bool { return !slices.Contains(ranked, h) })
}

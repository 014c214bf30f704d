package ui

import (
	"slices"
	"strconv"

	"vramscope/internal/text"
)

// hints are the keys for the bottom line in this scope, in the order in which
// they stand there, on a box whose last GPU has this index. Actions are left
// out while the screen shows the past.
func (b *bindings) hints(where scope, past bool, last int) []hint {
	found := make([]hint, 0, 24)
	for i := range b.all {
		if past && b.all[i].acts {
			continue
		}
		for _, h := range b.all[i].hints {
			if h.scope&where == 0 {
				continue
			}
			if b.all[i].id == keyGPU {
				h.key = gpuDigits(last)
			}
			found = append(found, h)
		}
	}
	slices.SortFunc(found, func(a, b hint) int { return a.position - b.position })
	return found
}

// gpuDigits are the number keys that name a GPU: "0-7".
func gpuDigits(last int) string {
	switch {
	case last <= 0:
		return "0"
	case last >= 9:
		return "0-9"
	default:
		return "0-" + strconv.Itoa(last)
	}
}

// cells is how wide the hint is: key, a blank, text.
func (h hint) cells() int { return text.Width(h.key) + 1 + text.Width(h.text) }

// fitHints keeps the hints that fit into room cells with gap blanks between
// them: by rank, and none after the first that does not fit, so that a wider
// screen never loses one.
func fitHints(hints []hint, room, gap int) []hint {
	ranked := slices.Clone(hints)
	slices.SortFunc(ranked, func(a, b hint) int { return a.rank - b.rank })
	last, used := 0, -gap
	for _, h := range ranked {
		used += gap + h.cells()
		if used > room {
			break
		}
		last = h.rank
	}
	kept := make([]hint, 0, len(hints))
	for _, h := range hints {
		if h.rank <= last {
			kept = append(kept, h)
		}
	}
	return kept
}

package detail

import (
	"strconv"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// standingOf is what the guard thinks of a row, nil where nothing.
func standingOf(s *snapshot.Snapshot, id snapshot.RowID) *snapshot.GuardStanding {
	if s.Guard == nil {
		return nil
	}
	for i := range s.Guard.Standings {
		if s.Guard.Standings[i].Row == id {
			return &s.Guard.Standings[i]
		}
	}
	return nil
}

// standingWords is "guard: importance -500, would be flushed second".
func standingWords(of *snapshot.GuardStanding, mode snapshot.GuardMode) string {
	words := "guard: importance " + strconv.Itoa(of.Importance)
	switch {
	case of.Order <= 0 && of.Reason != "":
		return words + ", not flushed: " + text.Clean(of.Reason)
	case of.Order <= 0:
		return words + ", not flushed"
	case mode == snapshot.GuardAct:
		words += ", is flushed " + ordinal(of.Order)
	default:
		words += ", would be flushed " + ordinal(of.Order)
	}
	if of.Frees > 0 {
		words += ", " + of.Frees.String() + " expected"
	}
	return words
}

func ordinal(n int) string {
	words := [...]string{"first", "second", "third"}
	if n <= len(words) {
		return words[n-1]
	}
	ending := "th"
	if last := n % 10; last >= 1 && last <= 3 && n%100/10 != 1 {
		ending = [...]string{"st", "nd", "rd"}[last-1]
	}
	return strconv.Itoa(n) + ending
}

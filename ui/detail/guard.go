package detail

import (
	"slices"
	"strconv"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// guardWords returns "guard: importance -500, would be flushed second", "" where no guard looks at the row.
func guardWords(guard *snapshot.Guard, id snapshot.RowID) string {
	if guard == nil {
		return ""
	}
	i := slices.IndexFunc(guard.Standings, func(s snapshot.GuardStanding) bool { return s.Row == id })
	if i < 0 {
		return ""
	}
	standing := &guard.Standings[i]
	words := "guard: importance " + strconv.Itoa(standing.Importance)
	switch {
	case standing.Order <= 0 && standing.Reason != "":
		return words + ", not flushed: " + text.Clean(standing.Reason)
	case standing.Order <= 0:
		return words + ", not flushed"
	case guard.Mode == snapshot.GuardAct:
		words += ", is flushed " + ordinal(standing.Order)
	default:
		words += ", would be flushed " + ordinal(standing.Order)
	}
	if standing.Frees > 0 {
		words += ", " + standing.Frees.String() + " expected"
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

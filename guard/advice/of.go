package advice

import (
	"cmp"
	"slices"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/sampler/snapshot"
)

// maxSuggestions is the largest number of suggestions for a process.
const maxSuggestions = 3

// minSaving is the smallest amount worth advising: less does not repay a restart.
const minSaving = 256 * quantity.MiB

// Input is what advice is based on. Only Snapshot is required.
type Input struct {
	Snapshot    *snapshot.Snapshot
	History     snapshot.History
	Environment []process.Variable   // of the process
	Held        []snapshot.HeldClass // what holds the process's memory on that device, as its probe reports it
	Replayed    []Replay             // the process's requests replayed; the first with its own settings
}

// Of returns the advice for a row, best first.
func Of(in Input, id snapshot.RowID) []Advice {
	f := gather(in, id)
	if f == nil {
		return nil
	}
	var all []Advice
	for _, rule := range []func(*facts) []Advice{
		leaks, fragmentation, cachedLong, flushedInVain, emptiedInLoop, preallocation,
		optimizer, precision, limits, activations, roomToGrow, contexts, imbalance, idle,
	} {
		all = append(all, rule(f)...)
	}
	return best(all)
}

// best puts the best advice of each rule first, by what it saves, and the rest after it. A leak
// comes before all: it uses up whatever another change saves.
func best(all []Advice) []Advice {
	sorted.Stable(all, func(a, b Advice) int {
		if leak := a.Rule == Leak; leak != (b.Rule == Leak) {
			return map[bool]int{true: -1, false: 1}[leak]
		}
		return cmp.Compare(b.Bytes.Or(0), a.Bytes.Or(0))
	})
	var first, rest []Advice
	for _, a := range all {
		if slices.ContainsFunc(first, func(b Advice) bool { return b.Rule == a.Rule }) {
			rest = append(rest, a)
		} else {
			first = append(first, a)
		}
	}
	all = append(first, rest...)
	return all[:min(len(all), maxSuggestions)]
}

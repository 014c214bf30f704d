package advice

import (
	"fmt"
	"maps"
	"slices"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// unequalShare is by how much the largest share must exceed the mean of the others, as a part of
// the largest.
const unequalShare = 0.25

func imbalance(f *facts) []Advice {
	if words, brings := Unequal(f.Snapshot, f.process); brings >= minSaving {
		return []Advice{evenShares.of(brings, "even shares: %s", words)}
	}
	return nil
}

// Unequal describes a process that uses much more than the other ranks of its job on this box, or
// much more of one of its GPUs than of the others: "rank 0 uses 31.2G, the other 7 ranks 18.0G to
// 18.4G". If a rank has several GPUs, only the row with its largest figure gets the words. MIG
// instances are not compared. brings is how much equal shares would save.
func Unequal(s *snapshot.Snapshot, p *snapshot.Process) (words string, brings quantity.Bytes) {
	ranks, gpus := map[process.Identity]quantity.Bytes{}, map[snapshot.RowID]quantity.Bytes{}
	numbers, largest := map[int]process.Identity{}, p.ID
	for i := range s.Rows {
		row := &s.Rows[i]
		rank, ranked := row.Hints.Rank.Value()
		own, peer := row.ID.Process == p.ID.Process, ranked && p.Hints.Rank.Known() && sameJob(row, p)
		used, known := row.Used.Value()
		if !own && !peer {
			continue
		}
		if twin, ok := numbers[rank]; !known || row.ID.Instance.MIG || ranked && ok && twin != row.ID.Process {
			return "", 0 // these cannot be compared: unknown memory, MIG, two jobs, or a rank's children
		}
		if own {
			if gpus[row.ID] = used; used > gpus[largest] {
				largest = row.ID
			}
		}
		if ranked {
			numbers[rank] = row.ID.Process
			ranks[row.ID.Process] = max(ranks[row.ID.Process], used)
		}
	}
	if largest == p.ID {
		words, brings = unequal(ranks, p.ID.Process, "rank", p.Hints.Rank.Or(0))
	}
	if words == "" {
		words, brings = unequal(gpus, p.ID, "GPU", p.GPU)
	}
	return words, brings
}

// sameJob reports whether two ranks are of one job: children of one launcher, or tasks of a Slurm
// step. PID 1 is not a launcher: it adopts orphaned processes.
func sameJob(a, b *snapshot.Process) bool {
	return a.UID == b.UID && (a.Parent > 1 && a.Parent == b.Parent || a.Job.Kind == "slurm" && a.Job == b.Job)
}

func unequal[K comparable](shares map[K]quantity.Bytes, own K, kind string, number int) (string, quantity.Bytes) {
	largest, n := shares[own], len(shares)-1
	delete(shares, own)
	if n < 1 {
		return "", 0
	}
	others := slices.Sorted(maps.Values(shares))
	least, most, mean := others[0], others[n-1], quantity.Bytes(0)
	for _, share := range others {
		mean += share / quantity.Bytes(n)
	}
	more := largest - mean
	if more < quantity.GiB || float64(more) < unequalShare*float64(largest) || largest <= most || least < largest/4 { // least is a stray context
		return "", 0
	}
	rest := kind
	if n > 1 {
		rest = text.Plural(n, kind, kind+"s")
	}
	words := fmt.Sprintf("%s %d uses %s, the other %s %s", kind, number, largest, rest, least)
	if least.String() != most.String() {
		words += " to " + most.String()
	}
	return words, more * quantity.Bytes(n) / quantity.Bytes(n+1)
}

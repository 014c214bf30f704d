package headroom

import (
	"cmp"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Flushable is a process whose flush would free memory.
type Flushable struct {
	Process *snapshot.Process
	Frees   quantity.Bytes // the memory that the flush frees
	Stays   quantity.Bytes // the part of Frees that stays free for the question's Length
	// Claimed is the size of the caches that a selective flush also evicts, as the program claims. No
	// verdict depends on it.
	Claimed snapshot.Bytes
}

// findReturnable sums the memory that flushes by root would free on the place.
func (p *Place) findReturnable(snap *snapshot.Snapshot, history snapshot.History, q Question) {
	p.Exact = true
	var all, staying quantity.Bytes
	probed := false
	for row := range snap.GPURows(p.GPU.UUID) {
		if p.Instance != nil && row.ID.Instance != p.Instance.ID || row.Probe == nil || row.Probe.Rejected != "" {
			continue
		}
		probed = true
		if row.Probe.Mismatch || row.FlushRefusal("root") != "" || row.NothingToFlush() != "" {
			continue
		}
		p.Exact = p.Exact && row.ReturnableBound() == snapshot.Exactly
		returns, claimed := row.Returnable.Or(0), claimedBy(snap, row)
		if returns <= 0 && claimed.Or(0) <= 0 {
			continue
		}
		stays := lasting(snap, history, row, returns, q.Length)
		p.Flushable = append(p.Flushable, Flushable{row, returns, stays, claimed})
		all += returns
		staying += stays
	}
	slices.SortStableFunc(p.Flushable, func(a, b Flushable) int { return cmp.Compare(b.Stays, a.Stays) })
	if probed && (all > 0 || p.Exact) {
		p.Returnable = quantity.From(all, quantity.Computed)
		p.Staying = quantity.From(staying, quantity.Computed)
	}
}

// claimedBy returns the size of the program's caches, unknown for a program on several GPUs, because
// nothing shows on which GPU a cache is.
func claimedBy(snap *snapshot.Snapshot, p *snapshot.Process) snapshot.Bytes {
	rows := 0
	for range snap.ProcessRows(p.ID.Process) {
		rows++
	}
	if rows > 1 {
		return snapshot.Bytes{}
	}
	return p.EvictableBytes()
}

// lasting returns how much of returns stays free for length. The process takes the rest again, by its
// demand.
func lasting(snap *snapshot.Snapshot, history snapshot.History, p *snapshot.Process, returns quantity.Bytes, length time.Duration) quantity.Bytes {
	if length == 0 || !p.Allocated.Known() {
		return returns
	}
	d := snapshot.DemandOf(history, snap.Time, p)
	return min(p.Spare(d.Upper(length)), returns)
}

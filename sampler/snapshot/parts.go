package snapshot

import (
	"slices"

	"vramscope/internal/quantity"
)

// Sum sets the parts and the process count of an instance from its rows.
func (in *Instance) Sum(gpuUUID string, rows []Process) {
	belongs := func(p *Process) bool { return p.ID.GPUUUID == gpuUUID && p.ID.Instance == in.ID }
	in.Parts = PartsOf(in.Memory.Used, rows, belongs)
	n := 0
	for i := range rows {
		if belongs(&rows[i]) {
			n++
		}
	}
	in.ProcessCount = quantity.From(n, quantity.Computed)
}

// PartsOf sums the parts of the rows for which belongs is true. Unknown is used memory that no probe
// explains. A report that exceeds the driver's used memory does not count.
func PartsOf(used Bytes, rows []Process, belongs func(*Process) bool) Parts {
	var parts Parts
	var explained quantity.Bytes
	total, limited := used.Value()
	room := total // left for the processes whose used memory the driver does not report
	take := func(p *Process) {
		if other := p.Other.Or(0); other > 0 {
			parts.Other = quantity.Sum(parts.Other, p.Other)
			explained += other
		}
		parts.Allocated = quantity.Sum(parts.Allocated, p.Kept())
		parts.Fragmented = quantity.Sum(parts.Fragmented, p.Unreturnable())
		parts.Returnable = quantity.Sum(parts.Returnable, p.Returnable)
		explained += heldBy(p)
	}
	unlisted := false
	for i := range rows {
		p := &rows[i]
		if !belongs(p) {
			continue
		}
		own, known := p.Used.Value()
		room -= own
		unlisted = unlisted || !known
		if known && p.Allocated.Known() && heldBy(p) <= own+Tolerance(own) {
			take(p)
		}
	}
	for i := range rows {
		p := &rows[i]
		if !unlisted || !belongs(p) || p.Used.Known() || !p.Allocated.Known() {
			continue
		}
		if limited && heldBy(p) > room+Tolerance(total) {
			continue
		}
		room -= heldBy(p)
		take(p)
	}
	if returnable, ok := parts.Returnable.Value(); ok && limited {
		parts.Returnable = quantity.From(min(returnable, total), quantity.Computed)
	}
	if limited {
		parts.Unknown = quantity.From(max(total-explained, 0), quantity.Computed)
	}
	return parts
}

func heldBy(p *Process) quantity.Bytes {
	return p.Allocated.Or(0) + p.Cached.Or(p.Returnable.Or(0)) + p.Fragmented.Or(0)
}

// CountProcesses sets ProcessCount and Unattributed.
func (g *GPU) CountProcesses(rows []Process) {
	pids := make([]int, 0, len(rows))
	var attributed quantity.Bytes
	for i := range rows {
		if rows[i].ID.GPUUUID == g.UUID {
			pids = append(pids, rows[i].ID.Process.PID)
			attributed += rows[i].Used.Or(0)
		}
	}
	slices.Sort(pids)
	g.ProcessCount, g.Unattributed = quantity.From(len(slices.Compact(pids)), quantity.Driver), Bytes{}
	if total, ok := g.Memory.Used.Value(); ok {
		g.Unattributed = quantity.From(max(total-attributed, 0), quantity.Computed)
	}
}

// FreeOf returns the memory that processes can still allocate.
func FreeOf(m *Memory) Bytes {
	if m.Free.Known() {
		return m.Free
	}
	used, known := m.Used.Value()
	capacity, limited := m.Capacity().Value()
	if !known || !limited {
		return Bytes{}
	}
	return quantity.From(max(capacity-used, 0), quantity.Computed)
}

// Tolerance returns by how much the driver's figure for an amount of memory may differ from the
// probe's. The driver counts in pages of 2 MiB and is read at another moment.
func Tolerance(amount quantity.Bytes) quantity.Bytes {
	return max(amount/50, 32*quantity.MiB)
}

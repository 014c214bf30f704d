package lease

import (
	"slices"

	"vramscope/internal/quantity"
)

// Trouble is a promise that memory does not bear out: a lease uses more than it was promised, or
// others took what leases were promised.
type Trouble struct {
	Device string // UUID
	Lease  string // the one that is overrun; "": memory was taken by processes without a lease
	Bytes  quantity.Bytes
}

// tolerance returns by how much two readings of the same memory may differ.
func tolerance(promised quantity.Bytes) quantity.Bytes { return max(promised/50, 32*quantity.MiB) }

// Troubles returns those of the newest reading, by device.
func (l *Ledger) Troubles() (found []Trouble) {
	for i := range l.reading.Devices {
		d := &l.reading.Devices[i]
		if !d.Known || !d.Exact {
			continue
		}
		var promised, left, over quantity.Bytes
		for _, le := range l.held {
			if le.Parent != "" || !slices.Contains(le.Devices, d.UUID) {
				continue
			}
			used := l.Used(le, d.UUID)
			if used > le.Need+tolerance(le.Need) {
				found = append(found, Trouble{d.UUID, le.ID, used - le.Need})
			}
			promised, left, over = promised+le.Need, left+max(le.Need-used, 0), over+max(used-le.Need, 0)
		}
		if short := left - d.Free - over; short > tolerance(promised) {
			found = append(found, Trouble{d.UUID, "", short})
		}
	}
	return found
}

// Used returns what a lease's processes use on a device, with those of leases that take from it.
func (l *Ledger) Used(le *Lease, device string) quantity.Bytes {
	sum := l.reading.Used[Use{le.ID, device}]
	for _, child := range l.held {
		if child.Parent == le.ID {
			sum += l.Used(child, device)
		}
	}
	return sum
}

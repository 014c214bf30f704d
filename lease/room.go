package lease

import (
	"cmp"
	"slices"
	"time"

	"vramscope/internal/quantity"
)

// family holds leases, and the leases that take from each, by its ID.
type family struct {
	all      []*Lease
	children map[string][]*Lease
}

// family returns the held leases, and those released since the reading.
func (l *Ledger) family() family {
	f := family{slices.Clone(l.held), map[string][]*Lease{}}
	for _, e := range l.ending {
		f.all = append(f.all, e.Lease)
	}
	for _, le := range f.all {
		if le.Parent != "" {
			f.children[le.Parent] = append(f.children[le.Parent], le)
		}
	}
	return f
}

// used returns how much a lease's processes certainly use, with those of leases that take from it. It
// takes the lesser use of the last two readings, because memory that was taken between the reading of
// free memory and that of use would count twice.
func (l *Ledger) used(f family, le *Lease, device string) quantity.Bytes {
	sum := min(l.reading.Used[Use{le.ID, device}], l.before[Use{le.ID, device}])
	for _, child := range f.children[le.ID] {
		sum += l.used(f, child, device)
	}
	return sum
}

func (l *Ledger) leased(device string) bool {
	return slices.ContainsFunc(l.family().all, func(le *Lease) bool { return slices.Contains(le.Devices, device) })
}

// rooms returns the room on each device, negative if more is promised than free. With a parent, it is
// the memory that the parent lease has left.
func (l *Ledger) rooms(parent string) []quantity.Bytes {
	f, rooms := l.family(), make([]quantity.Bytes, len(l.reading.Devices))
	for i := range l.reading.Devices {
		if d := &l.reading.Devices[i]; d.Known && parent == "" {
			rooms[i] = d.Free - l.Reserve
		}
	}
	if le := l.Lease(parent); le != nil {
		for _, device := range le.Devices {
			if i, known := l.at[device]; known && l.reading.Devices[i].Exact {
				rooms[i] = le.Need - min(l.reading.Used[Use{le.ID, device}], le.Need)
			}
		}
	}
	for _, le := range f.all {
		if le.Parent != parent {
			continue
		}
		for _, device := range le.Devices {
			i, known := l.at[device]
			if !known {
				continue
			}
			used := l.used(f, le, device)
			if parent != "" {
				rooms[i] -= max(le.Need, used) // the whole need comes out of the parent's memory
			} else {
				rooms[i] -= max(le.Need-used, 0)
			}
			if !l.reading.Devices[i].Exact && parent == "" {
				rooms[i] = min(rooms[i], 0)
			}
		}
	}
	return rooms
}

// set returns the indices of the devices that could hold a claim if they were free.
func (l *Ledger) set(le *Lease) (set []int) {
	parent := l.Lease(le.Parent)
	for i := range l.reading.Devices {
		d := &l.reading.Devices[i]
		switch {
		case le.Among != nil && !slices.Contains(le.Among, d.UUID):
		case parent != nil && (!slices.Contains(parent.Devices, d.UUID) || parent.Need < le.Need):
		case parent == nil && d.Capacity-l.Reserve < le.Need:
		default:
			set = append(set, i)
		}
	}
	return set
}

// free is memory that a lease will free, and when.
type free struct {
	at    time.Time
	bytes quantity.Bytes
}

// ends returns, by device, the memory of the leases with a known end, earliest first.
func (l *Ledger) ends(now time.Time, parent string) [][]free {
	f, ends := l.family(), make([][]free, len(l.reading.Devices))
	for _, le := range f.all {
		at := le.Ends()
		if le.Parent != parent || !at.After(now) {
			continue
		}
		for _, device := range le.Devices {
			if d, known := l.at[device]; known {
				ends[d] = append(ends[d], free{at, max(le.Need, l.used(f, le, device))})
			}
		}
	}
	for d := range ends {
		slices.SortFunc(ends[d], func(a, b free) int { return a.at.Compare(b.at) })
	}
	return ends
}

// share is the memory that claims can take from the box or from a parent lease, by device.
type share struct {
	room  []quantity.Bytes
	kept  []bool      // waiting claims keep the device
	until []time.Time // until when others may use a kept device; zero if they may not
	ends  [][]free    // nil if no waiting claim says when it ends
}

// begins returns the earliest time at which a claim fits, zero if unknown. It assumes that leases end
// when they say, and that earlier claims begin as early as they can.
func (s *share) begins(le *Lease, now time.Time, set []int) time.Time {
	var ready []time.Time
	for _, d := range set {
		if s.ends == nil || s.kept[d] && s.until[d].IsZero() {
			continue
		}
		at, left := latest(now, s.until[d]), s.room[d]
		for i := 0; i < len(s.ends[d]) && left < le.Need; i++ {
			left += s.ends[d][i].bytes
			at = latest(s.ends[d][i].at, s.until[d])
		}
		if left >= le.Need {
			ready = append(ready, at)
		}
	}
	if len(ready) < le.Count {
		return time.Time{}
	}
	slices.SortFunc(ready, time.Time.Compare)
	return ready[le.Count-1]
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// choose returns the devices with the most room of those that a claim may take now, nil if these are too few.
func (s *share) choose(le *Lease, now time.Time, set []int) []int {
	var free []int
	for _, d := range set {
		passes := !s.kept[d] || le.Length > 0 && !now.Add(le.Length).After(s.until[d])
		if passes && s.room[d] >= le.Need {
			free = append(free, d)
		}
	}
	if len(free) < le.Count {
		return nil
	}
	slices.SortStableFunc(free, func(a, b int) int { return cmp.Compare(s.room[b], s.room[a]) })
	return free[:le.Count]
}

// keep makes a claim keep devices until it begins: the nearest or, after gatherTime, all.
func (s *share) keep(le *Lease, now time.Time, set []int) {
	begins, nearest := s.begins(le, now, set), slices.Clone(set)
	if now.Sub(le.Asked) < gatherTime {
		slices.SortStableFunc(nearest, func(a, b int) int {
			switch { // devices that another claim keeps come last
			case s.kept[a] == s.kept[b]:
				return cmp.Compare(s.room[b], s.room[a])
			case s.kept[a]:
				return 1
			}
			return -1
		})
		nearest = nearest[:le.Count]
	}
	for _, d := range nearest {
		if !s.kept[d] || begins.Before(s.until[d]) {
			s.kept[d], s.until[d] = true, begins
		}
	}
}

// Trouble is a promise that cannot be kept: a lease uses more than it was promised, or others took
// memory that leases were promised.
type Trouble struct {
	Device string // UUID
	Lease  string // the lease with the overrun; "" if processes without a lease took the memory
	Bytes  quantity.Bytes
}

// tolerance returns by how much two readings of the same memory may differ.
func tolerance(promised quantity.Bytes) quantity.Bytes { return max(promised/50, 32*quantity.MiB) }

// Troubles returns the troubles of the newest reading, by device.
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

// Used returns how much a lease's processes use on a device, with those of leases that take from it.
func (l *Ledger) Used(le *Lease, device string) quantity.Bytes {
	sum := l.reading.Used[Use{le.ID, device}]
	for _, child := range l.held {
		if child.Parent == le.ID {
			sum += l.Used(child, device)
		}
	}
	return sum
}

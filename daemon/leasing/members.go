package leasing

import (
	"cmp"
	"os"
	"slices"

	"vramscope/internal/process"
	"vramscope/lease"
	"vramscope/sampler/snapshot"
)

// members finds out which processes belong to which lease: those that are or were in the tree below
// the lease's process, and those whose environment names the lease.
type members struct {
	table   *process.Table
	leaseOf map[process.Key]string // the lease of each process that belongs to one
	named   map[process.Key]string // the lease that the environment of a process on a GPU names; "": none
}

// update finds the processes of the held leases. It returns the leases whose last process has ended.
func (m *members) update(held []lease.Lease, snap *snapshot.Snapshot) (ended []string) {
	links, err := m.table.Links()
	if err != nil || len(links) == 0 {
		return nil // it is not known which leases have ended
	}
	roots, owners, kept := map[process.Key]string{}, map[string]uint32{}, map[process.Key]string{}
	for i := range held {
		owners[held[i].ID] = held[i].UID
		if id := held[i].Process; id.PID > 0 {
			roots[id.Key()] = held[i].ID
		}
	}
	named := m.readNames(snap, links, owners)
	var find func(pid, depth int) string
	find = func(pid, depth int) string {
		link, there := links[pid]
		p := process.Identity{PID: pid, StartTime: link.Start}.Key()
		if !there || depth > len(links) {
			return ""
		}
		if id, done := kept[p]; done {
			return id
		}
		id := roots[p]
		for _, before := range []string{m.leaseOf[p], named[p]} {
			if _, held := owners[before]; id == "" && held {
				id = before
			}
		}
		if id == "" {
			id = find(link.Parent, depth+1)
		}
		kept[p] = id
		return id
	}
	alive := map[string]bool{}
	for pid := range links {
		alive[find(pid, 0)] = true
	}
	for p, id := range kept {
		if id == "" {
			delete(kept, p)
		}
	}
	m.leaseOf = kept
	for i := range held {
		le := &held[i]
		if !alive[le.ID] && (le.Process.PID > 0 || le.Seen) && !m.adopt(le, links) {
			ended = append(ended, le.ID)
		}
	}
	return ended
}

// readNames reads the environment of each process on a GPU once.
func (m *members) readNames(snap *snapshot.Snapshot, links map[int]process.Link, owners map[string]uint32) map[process.Key]string {
	named := map[process.Key]string{}
	for i := range snap.Rows {
		row := &snap.Rows[i]
		p := row.ID.Process.Key()
		uid, isKnown := row.UID.Value()
		if links[row.ID.Process.PID].Start != row.ID.Process.StartTime || !isKnown {
			continue
		}
		id, read := m.named[p]
		if !read {
			id = m.nameIn(row.ID.Process)
		}
		named[p] = id
		if owners[id] != uid { // a process that names another user's lease does not belong to it
			named[p] = ""
		}
	}
	m.named = named
	return named
}

func (m *members) nameIn(id process.Identity) string {
	variables, _ := m.table.Environment(id) // an environment that cannot be read names no lease
	at := slices.IndexFunc(variables, func(v process.Variable) bool { return v.Name == lease.Variable })
	if at < 0 {
		return ""
	}
	return variables[at].Value
}

// adopt finds a process that left the tree of a lease before any update. Its environment names the lease.
func (m *members) adopt(le *lease.Lease, links map[int]process.Link) bool {
	for pid, link := range links {
		if pid == os.Getpid() || cmp.Or(le.Process.StartTime, link.Start) > link.Start {
			continue
		}
		id, err := m.table.Identify(pid)
		if err != nil || m.table.Owner(pid).Or(^le.UID) != le.UID || m.nameIn(id) != le.ID {
			continue
		}
		m.leaseOf[id.Key()] = le.ID
		return true
	}
	return false
}

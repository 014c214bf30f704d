package process

import (
	"strconv"

	"vramscope/internal/quantity"
)

// Link is a process's place in the tree of processes.
type Link struct {
	Start  uint64 // as Identity.StartTime
	Parent int
}

// Links reads all processes of this /proc except zombies.
func (t *Table) Links() (map[int]Link, error) {
	pids, err := NumbersIn(t.root)
	links := make(map[int]Link, len(pids))
	var buf [statSize]byte
	for _, pid := range pids {
		s, unread := readStat(t.root+"/"+strconv.Itoa(pid)+"/stat", buf[:])
		switch {
		case unread == nil && !s.ended:
			links[pid] = Link{s.start, s.parent}
		case noDescriptor(unread):
			err = unread
		}
	}
	return links, err
}

// Owner returns the user whose rights a process has.
func (t *Table) Owner(pid int) quantity.Optional[uint32] { return t.owner(t.directory(pid)) }

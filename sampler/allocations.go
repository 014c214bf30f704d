package sampler

import (
	"slices"
	"time"

	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// allocationReader is a ProcessReader that finds which GPUs a scheduler has given to jobs.
type allocationReader interface {
	Allocations(now time.Time, wait time.Duration) []process.Allocation
}

// allocationWait is how long a single snapshot waits for the scheduler, because no later one follows.
const allocationWait = time.Second

// nameAllocations names the jobs to which a scheduler has given a GPU that has no process. A scheduler
// numbers GPUs by its own configuration. If its numbers may differ from the driver's, no job is named.
func (s *Sampler) nameAllocations(now time.Time, snap *snapshot.Snapshot) {
	reader, ok := s.options.Processes.(allocationReader)
	if !ok {
		return
	}
	free := make(map[int]*gpu) // GPUs without a process, by index
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		listed := s.driver.find(g.UUID)
		if listed == nil {
			continue
		}
		if n, known := g.ProcessCount.Value(); known && n == 0 && !g.MIG && g.Utilization.Or(0) == 0 {
			free[g.Index] = listed
		} else {
			listed.held = nil
		}
	}
	if len(free) == 0 {
		return
	}
	wait := time.Duration(0)
	if s.options.Single {
		wait = allocationWait
	}
	held := jobsOf(reader.Allocations(now, wait), snap)
	for index, known := range free {
		a := held[index]
		switch {
		case a == nil:
			known.held = nil
		case known.held == nil || known.held.Job != a.Job || known.held.User != a.User:
			named := &snapshot.JobAllocation{Job: a.Job, User: a.User, Since: now}
			if known.held != nil && known.held.Job.ID == a.Job.ID {
				named.Since = known.held.Since // the user or the account has become known
			}
			known.held = named
		}
		snap.GPU(known.device.UUID).Allocation = known.held
	}
}

// jobsOf returns the jobs by the index of their GPUs. It leaves out a GPU that two pods have, because
// one pod may have ended. It returns nil if the scheduler may number GPUs differently: a job that is no
// pod shares a GPU, has a GPU that is missing or under MIG, or runs on a GPU that it does not have.
func jobsOf(allocations []process.Allocation, snap *snapshot.Snapshot) map[int]*process.Allocation {
	held := make(map[int]*process.Allocation)
	var twice []int // GPUs that two pods have
	for i := range allocations {
		a := &allocations[i]
		for _, uuid := range a.UUIDs { // other UUIDs name a MIG instance or a part of a GPU
			if g := snap.GPU(uuid); g != nil && !g.MIG {
				a.GPUs = append(a.GPUs, g.Index)
			}
		}
		for _, index := range a.GPUs {
			if other := held[index]; other != nil && other != a && len(a.UUIDs) > 0 && len(other.UUIDs) > 0 {
				twice = append(twice, index)
				continue
			}
			if held[index] != nil && held[index] != a || !slices.ContainsFunc(snap.GPUs, func(g snapshot.GPU) bool { return g.Index == index && !g.MIG }) {
				return nil
			}
			held[index] = a
		}
	}
	for i := range snap.Rows {
		p := &snap.Rows[i]
		for _, a := range allocations {
			if len(a.UUIDs) == 0 && p.Job.Kind == a.Job.Kind && p.Job.ID == a.Job.ID && !slices.Contains(a.GPUs, p.GPU) {
				return nil
			}
		}
	}
	for _, index := range twice {
		delete(held, index)
	}
	return held
}

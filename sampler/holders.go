package sampler

import (
	"slices"
	"time"

	"vramscope/internal/panics"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/sampler/snapshot"
)

// holderReader is a ProcessReader that finds the processes that have the driver's device files open.
type holderReader interface{ Holders() []process.Holder }

// holders looks for the processes behind memory that no listed process accounts for. A search reads a link
// for each open file of each process. So it runs in the background, and only while there is such memory.
type holders struct {
	found   []process.Holder
	due     time.Time
	results chan searched // nil while no search runs
}

type searched struct {
	found []process.Holder
	took  time.Duration
	panic *panics.Caught
}

const (
	unattributedLeast = quantity.GiB
	searchEvery       = 10 * time.Second
	searchFactor      = 200                    // a search takes at most 0.5 % of the time
	firstSearchWait   = 100 * time.Millisecond // how long the first tick waits for a search, because vramscope once has no other tick
)

// nameHolders adds to GPUs with unattributed memory the processes that have the GPU's device file
// open. To the snapshot it adds the processes that have device files open, but no GPU's own.
func (s *Sampler) nameHolders(now time.Time, snap *snapshot.Snapshot) {
	reader, ok := s.options.Processes.(holderReader)
	unattributed := slices.ContainsFunc(snap.GPUs, func(g snapshot.GPU) bool { return g.Unattributed.Or(0) >= unattributedLeast })
	h := &s.holders
	if !ok || !unattributed {
		h.found = nil
		return
	}
	if h.results == nil && !now.Before(h.due) {
		results := make(chan searched, 1)
		h.results = results
		go func() {
			began := time.Now()
			var r searched
			defer func() {
				r.panic = panics.Catch(recover())
				results <- r
			}()
			r.found = reader.Holders()
			r.took = time.Since(began)
		}()
	}
	wait := time.Duration(0)
	if h.due.IsZero() {
		wait = firstSearchWait
	}
	h.collect(now, wait)
	pids := make([]int, 0, len(h.found))
	for _, found := range h.found {
		pids = append(pids, found.PID)
	}
	infos := make(map[int]process.Info)
	s.options.Processes.Processes(now, pids, func(info *process.Info) { infos[info.Identity.PID] = *info })
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		listed := s.driver.find(g.UUID)
		if listed == nil || g.Unattributed.Or(0) < unattributedLeast {
			continue
		}
		minor, known := listed.device.Minor.Value()
		g.Holders = h.without(snap.Rows, g.UUID, infos, func(found *process.Holder) bool { return known && slices.Contains(found.Minors, minor) })
	}
	snap.Holders = h.without(snap.Rows, "", infos, func(found *process.Holder) bool { return len(found.Minors) == 0 })
}

// collect takes the result of a search, for which it waits at most wait.
func (h *holders) collect(now time.Time, wait time.Duration) {
	select {
	case r := <-h.results:
		h.take(now, r)
		return
	default:
	}
	if h.results == nil || wait == 0 {
		return
	}
	h.due = now // so that only one tick waits
	select {
	case r := <-h.results:
		h.take(now, r)
	case <-time.After(wait):
	}
}

func (h *holders) take(now time.Time, r searched) {
	r.panic.Again()
	h.found, h.results = r.found, nil
	h.due = now.Add(max(searchEvery, searchFactor*r.took))
}

// without returns the holders for which belongs is true, except those that the driver lists on
// the GPU, or on any GPU if uuid is "".
func (h *holders) without(rows []snapshot.Process, uuid string, infos map[int]process.Info, belongs func(*process.Holder) bool) []snapshot.Holder {
	var out []snapshot.Holder
	for i := range h.found {
		found := &h.found[i]
		info, there := infos[found.PID]
		listed := slices.ContainsFunc(rows, func(p snapshot.Process) bool {
			return p.ID.Process.PID == found.PID && p.Type != "" && (uuid == "" || p.ID.GPUUUID == uuid)
		})
		if there && !listed && belongs(found) {
			out = append(out, snapshot.Holder{Process: info.Identity, User: info.User, Name: info.Name, Command: info.Command, Job: info.Job})
		}
	}
	sorted.Stable(out, func(a, b snapshot.Holder) int { return a.Process.PID - b.Process.PID })
	return out
}

package guard

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// Ask is the request of a process that is short of memory.
type Ask struct {
	Process process.Identity
	UID     uint32 // the user who owns the process, by the kernel
	GPUUUID string
	Bytes   quantity.Bytes // what its allocation needs
}

// Room is the result of a rescue.
type Room struct {
	Freed quantity.Bytes `json:"freed_bytes"` // by the processes that were flushed
	Free  quantity.Bytes `json:"free_bytes"`  // on the GPU or instance afterwards
}

// RescueOutcome is the result of the retried allocation.
type RescueOutcome struct {
	Known     bool // the process has reported the result
	Succeeded bool
	Waited    time.Duration // how long the allocating thread waited
}

// RescueError says why no process frees memory.
type RescueError struct {
	Code   string // an error code of the daemon's protocol
	Reason string
}

// The codes.
const (
	NotActing   = "unsupported"  // the guard does not act
	RescueBusy  = "busy"         // another rescue is under way, or there is no snapshot yet
	RescueLimit = "rate_limited" // there were too many rescues
	NoRoom      = "no_room"      // not enough can be freed, or the process is not on the GPU
)

func (e *RescueError) Error() string { return e.Reason }

// rescueRule is the rule's name in decisions of a rescue.
const rescueRule = "rescue"

// Rescue decides which processes free memory for an allocation that has failed: the least important
// first, those of failing users last, and only as many as are needed. They must be less important than
// the one that asks or, if they are the same user's, equally important, and not among tried. If they
// cannot free enough, the only decision is of kind GuardNothing, with the reason. The caller carries
// out each decision to act and passes its outcome to Finished, or withdraws it.
func (e *Engine) Rescue(snap *snapshot.Snapshot, ask Ask, tried ...snapshot.RowID) []Decision {
	d := Decision{Time: snap.Time, Rule: rescueRule, GPUUUID: ask.GPUUUID, Goal: quantity.From(ask.Bytes, quantity.Computed)}
	refuse := func(format string, args ...any) []Decision {
		d.Kind, d.Reason = snapshot.GuardNothing, fmt.Sprintf(format, args...)
		return []Decision{d}
	}
	g := snap.GPU(ask.GPUUUID)
	if g == nil || g.State != snapshot.GPUOK {
		return refuse("the GPU is not known, or does not answer")
	}
	d.GPU = g.Index
	where := snapshot.Place{GPUUUID: g.UUID}
	var asker *snapshot.Process
	for p := range snap.ProcessRows(ask.Process) {
		if p.ID.GPUUUID == g.UUID {
			asker, where.Instance = p, p.ID.Instance
		}
	}
	d.Instance, d.Free = where.Instance, snapshot.FreeOf(g.MemoryOf(where.Instance))
	free, known := d.Free.Value()
	switch {
	case e.mode() != Act:
		return refuse("the guard does not act: its mode is %s", e.mode())
	case !e.paused.IsZero():
		return refuse("the guard is paused until %s", e.paused.Format(time.TimeOnly))
	case asker == nil:
		return refuse("PID %d is not on GPU %d", ask.Process.PID, g.Index)
	case !e.owner.Root && !e.owns(snap, asker):
		return refuse("PID %d is another user's, and this guard is not root's", ask.Process.PID)
	case !known:
		return refuse("it is not known how much is free")
	}
	own := e.importanceOf(asker).value
	var givers []*snapshot.Process
	var all quantity.Bytes
	for p := range snap.GPURows(g.UUID) {
		if p.ID.Instance == where.Instance && p.ID.Process != ask.Process && !slices.Contains(tried, p.ID) && e.rescues(snap, p, asker, ask.UID) {
			givers = append(givers, p)
			all += given(p, Selective)
		}
	}
	need := ask.Bytes - free
	if all < need {
		return refuse("%s are missing, and processes that are no more important can spare %s", max(need, 0), all)
	}
	failing := func(p *snapshot.Process) int { // processes of a failing user come last: the process that asks cannot wait
		if e.isFailing(ownerOf(p)) {
			return 1
		}
		return 0
	}
	slices.SortFunc(givers, func(a, b *snapshot.Process) int {
		return cmp.Or(cmp.Compare(failing(a), failing(b)), firstToGive(e.standing[a.ID], e.standing[b.ID]))
	})
	var out []Decision
	for _, p := range givers {
		if need <= 0 && len(out) > 0 || e.tooMany(ownerOf(asker)) != "" {
			break
		}
		give := d
		give.Level = string(Gradual)
		if given(p, Gradual) < need && evictable(p) >= minFlush {
			give.Level = string(Selective)
		}
		amount := expected(p, Level(give.Level))
		give.Kind, give.Row, give.User, give.Name = snapshot.GuardActs, p.ID, p.User, text.Clean(p.ProgramName())
		give.Expected = quantity.From(amount, quantity.Probe)
		give.Reason = fmt.Sprintf("PID %d is short of %s; importance %d, its own is %d", ask.Process.PID, max(ask.Bytes-free, 0), e.importanceOf(p).value, own)
		e.begin(&give, ownerOf(asker))
		need -= given(p, Level(give.Level))
		out = append(out, give)
	}
	if len(out) == 0 {
		return refuse("%s", e.tooMany(ownerOf(asker)))
	}
	return e.finish(out)
}

// given returns how much a flush of a row at a level leaves for others, without memory that its
// program will need within ten seconds. A row that is too new to know this counts in full.
func given(p *snapshot.Process, at Level) quantity.Bytes {
	amount := spare(p, p.Demand.Within[0].Upper).Or(p.Frees())
	if at != Gradual {
		amount += evictable(p)
	}
	return min(amount, p.Used.Or(amount))
}

// UnderWay reports whether a flush that is worth waiting for is under way on the GPU.
func (e *Engine) UnderWay(uuid string) bool {
	for id, t := range e.traces {
		if id.GPUUUID == uuid && t.flight != nil && !e.isFailing(t.owner) {
			return true
		}
	}
	return false
}

// Late notes that a process has not freed its memory within the time of the rescue.
func (e *Engine) Late(d Decision) {
	if t := e.traces[d.Row]; t != nil {
		e.failing[t.owner] = e.now.Add(failingTime)
	}
}

// rescues reports whether a row frees memory for a user's process. It ignores the needs of the next
// minutes and back-offs, because a failed allocation costs more than a flush in vain.
func (e *Engine) rescues(snap *snapshot.Snapshot, p, asker *snapshot.Process, user uint32) bool {
	i, t, importance := e.importanceOf(p), e.traces[p.ID], e.importanceOf(asker).value
	// Containers of different people may all be root's.
	same := ownerOf(p) == user && (user != 0 || p.Job.Kind == asker.Job.Kind && p.Job.ID == asker.Job.ID)
	if t == nil || e.standing[p.ID] == nil || i.value > importance || i.value == importance && !same {
		return false
	}
	return e.permitted(snap, p, i) && e.exclusion(snap, p, i) == "" && !t.busy && given(p, Selective) >= minFlush
}

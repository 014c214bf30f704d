package guard

import (
	"cmp"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/sampler/snapshot"
)

// absentTime is how long after its exit a program is expected to start again: a failed training
// restarts within minutes.
const absentTime = 10 * time.Minute

// nextPart limits the allocation that is expected after a failed one, to 1/16 of the capacity.
const nextPart = 16

// program identifies a command and its user on a device.
type program struct {
	snapshot.Place
	User, Name string
}

type runs struct {
	Needs      quantity.Bytes // the most that a run has needed, inside and outside its allocators
	holds      quantity.Bytes // what the present runs use
	Importance int
	Owner      uint32
	Seen       time.Time
}

func programOf(p *snapshot.Process) program {
	return program{snapshot.Place{GPUUUID: p.ID.GPUUUID, Instance: p.ID.Instance}, p.User, p.ProgramName()}
}

// watchRuns records what each program whose allocated memory is known has needed in this snapshot,
// and what each failed allocation would have needed.
func (e *Engine) watchRuns(snap *snapshot.Snapshot) {
	for _, r := range e.runs {
		r.holds = 0
	}
	for i := range snap.Rows {
		p := &snap.Rows[i]
		allocated, known := p.Allocated.Value()
		if !known {
			continue
		}
		t := e.traces[p.ID]
		t.outside = max(p.Other.Or(t.outside), 0) // Other is unknown while driver and probe were read at different moments
		r := e.runsOf(programOf(p))
		r.Needs, r.holds = max(r.Needs, t.outside+allocated+p.Demand.Ever), r.holds+usedOf(p).Or(0)
		r.Importance, r.Owner, r.Seen = e.standing[p.ID].Importance, t.owner, e.now
	}
	for i := range snap.Failures {
		f := &snap.Failures[i]
		key := program{snapshot.Place{GPUUUID: f.GPUUUID, Instance: f.Row.Instance}, f.User, f.Name}
		if e.runs[key] == nil { // the program failed before it was seen
			p := snapshot.Process{ID: f.Row, User: f.User, Name: f.Name, Command: []string{f.Name}}
			*e.runsOf(key) = runs{Importance: e.importanceOf(&p).value, Owner: noUser, Seen: f.Time}
		}
		var outside quantity.Bytes
		if t := e.traces[f.Row]; t != nil {
			outside = t.outside
		}
		r, asked := e.runs[key], f.OutOfMemory.Requested.Or(0)
		if g := snap.GPU(f.GPUUUID); g != nil {
			asked += min(asked, g.Memory.Capacity().Or(0)/nextPart)
		}
		r.Needs = max(r.Needs, outside+f.OutOfMemory.Allocated.Or(0)+asked)
		if f.Time.After(r.Seen) {
			r.Seen = f.Time
		}
	}
	for key, r := range e.runs {
		if e.now.Sub(r.Seen) > absentTime {
			delete(e.runs, key)
		}
	}
}

func (e *Engine) runsOf(key program) *runs {
	if e.runs[key] == nil {
		e.runs[key] = &runs{}
	}
	return e.runs[key]
}

// demand is memory that programs are expected to ask for and that is not free.
type demand struct {
	bytes      quantity.Bytes // 0: none
	important  bool           // important programs need it: all together, or the one whose demand it is
	whose      program        // the program that needs it; zero if all important ones or a lease need it
	importance int
	owner      uint32
	lease      bool // a claim that waits needs it
}

// demandOn returns the demand that a rule should meet on a device. It first tries the next peaks of
// all important programs together, then, because peaks rarely coincide, single programs: important
// ones first, then the largest need. It skips a demand that flushes cannot meet.
func (e *Engine) demandOn(rule int, v *view) demand {
	all, each := demand{important: true}, []demand(nil)
	for key, r := range e.runs {
		missing := r.Needs - r.holds
		if key.Place != v.Place || missing <= 0 || !e.forAll(rule) && r.Owner != e.owner.UID && !v.snap.Simulated {
			continue
		}
		d := demand{missing, r.Importance > 0, key, r.Importance, r.Owner, false}
		if each = append(each, d); d.important {
			all.bytes += missing
		}
	}
	sorted.Stable(each, func(a, b demand) int {
		return cmp.Or(cmp.Compare(max(min(b.importance, 1), 0), max(min(a.importance, 1), 0)), cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.whose.User+a.whose.Name, b.whose.User+b.whose.Name))
	})
	for _, d := range slices.Insert(each, 0, all) {
		if d.bytes > v.free && d.bytes <= e.spare(rule, v, &d) {
			return d
		}
	}
	return demand{}
}

// spare returns how much could be free on a device for a demand.
func (e *Engine) spare(rule int, v *view, d *demand) quantity.Bytes {
	spare := v.free
	for p := range v.snap.PlaceRows(v.Place) {
		switch {
		case !e.givesFor(d, p, Gradual):
		case e.stayAwake(rule, v.snap, p) == "":
			spare += expected(p, Sleep)
		case !d.lease || e.allowed(v.snap, p, rule) && e.exclusion(v.snap, p, e.importanceOf(p)) == "" && e.policy.Rules[rule].Steps[0] != Sleep:
			spare += given(p, Urgent)
		}
	}
	return spare
}

// leaseOn sets the demand of the first claim that waits for a lease, on one device at a time. If
// enough devices can meet the demand, it takes the one that lacks the least.
func (e *Engine) leaseOn(rule int, views []*view) {
	var can []*view
	for _, v := range views {
		d := demand{lease: true, bytes: e.wanted[v.snap.DeviceUUID(snapshot.RowID{GPUUUID: v.GPUUUID, Instance: v.Instance})]}
		switch {
		case e.now.Before(e.picked): // wait for the release on the picked device and for the next reading of the leases
			if v.Place == e.pick {
				v.demand = d
			}
		case d.bytes > v.free && d.bytes <= e.spare(rule, v, &d):
			v.demand, can = d, append(can, v)
		}
	}
	sorted.Stable(can, func(a, b *view) int { return cmp.Compare(a.demand.bytes-a.free, b.demand.bytes-b.free) })
	for i, v := range can {
		if i > 0 || len(can) < e.devices {
			v.demand = demand{}
		}
	}
}

// givesFor reports whether a row frees memory for a demand; without one, every row does. For
// important programs and for a lease, every process that is not important does. For any other
// program only its user's other programs do, and they free memory that they need themselves only if
// they are less important.
func (e *Engine) givesFor(d *demand, p *snapshot.Process, step Level) bool {
	importance := e.standing[p.ID].Importance
	switch {
	case d.bytes == 0:
		return true
	case d.important || d.lease:
		return importance <= 0
	case ownerOf(p) != d.owner || programOf(p) == d.whose:
		return false
	}
	return importance < d.importance || step == Gradual
}

// vain is the newest flush that a rule made on a device only for its goal, without a demand. It may
// turn out to have been in vain.
type vain struct {
	began time.Time      // zero once its effect is known
	free  quantity.Bytes // what should be free afterwards if the flush was of use
	until time.Time      // no other flush only for the goal is made before this time
}

// goalRests is how long, after a flush in vain, a rule makes no flush that serves only its goal.
const goalRests = time.Hour

// rests reports whether a rule waits before it flushes again only for its goal: for a minute, and for
// goalRests if the freed memory is gone by then or an allocation has failed.
func (e *Engine) rests(key episodeKey, v *view) bool {
	f := e.vain[key]
	if f == nil {
		return false
	}
	if !f.began.IsZero() && e.now.Sub(f.began) >= returnTime {
		failed := slices.ContainsFunc(v.snap.Failures, func(x snapshot.Event) bool {
			return x.GPUUUID == v.GPUUUID && x.Row.Instance == v.Instance && x.Time.After(f.began)
		})
		if f.began = (time.Time{}); failed || v.free < f.free {
			f.until = e.now.Add(goalRests)
		}
	}
	return e.now.Before(f.until)
}

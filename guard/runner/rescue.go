package runner

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"vramscope/guard"
	"vramscope/internal/bounded"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

const (
	// rescueTime is less than the two seconds for which a process waits.
	rescueTime = 1800 * time.Millisecond
	// giveTime is how long a rescue waits for a flush while no memory becomes free. Then it
	// asks the next process.
	giveTime = rescueTime / 3
	// slack is free memory that may be impossible to allocate: the driver allocates in pages,
	// and keeps a part for itself.
	slack = 32 * quantity.MiB
	// claimSamples is how many more samples check a process's claim to lack memory although enough
	// is free.
	claimSamples = 4
	// settlePause is the time between two samples.
	settlePause = 50 * time.Millisecond
)

// giver is a process that was flushed for another.
type giver struct {
	row   snapshot.RowID
	name  string
	freed quantity.Bytes
}

// Rescue flushes processes for one that is no less important and whose allocation has failed, and
// returns when there is room. The returned function takes the outcome of the allocation. If there is
// no room within rescueTime, or none can be made, Rescue returns a *guard.RescueError.
func (r *Runner) Rescue(ctx context.Context, ask guard.Ask) (guard.Room, func(guard.RescueOutcome), error) {
	state := r.State()
	if state.Cannot != "" { // state.Cannot names a path, which other users must not learn
		return refuse(guard.NotActing, "the guard cannot act: its audit log cannot be written")
	}
	if state.Mode != guard.Act || r.Flusher == nil || r.Sample == nil {
		return refuse(guard.NotActing, "the guard does not act: its mode is %s", state.Mode)
	}
	began := r.Clock()
	ctx, cancel := context.WithTimeout(ctx, rescueTime)
	defer cancel()
	snap, device := r.newest(), ask.GPUUUID
	g, _ := snap.Device(device)
	switch {
	case snap == nil:
		return refuse(guard.RescueBusy, "there is no snapshot yet")
	case g == nil:
		return refuse(guard.NoRoom, "the GPU is not known")
	}
	ask.GPUUUID = g.UUID
	if !isOn(snap, &ask) { // the process may have come onto the GPU since the snapshot
		strangers := askers{user: ask.UID}
		if why := r.admit(strangers, began); why != nil {
			return guard.Room{}, nil, why
		}
		snap = r.Sample(ctx)
		r.release(strangers)
		if !isOn(snap, &ask) {
			return refuse(guard.NoRoom, "PID %d is not on GPU %d", ask.Process.PID, g.Index)
		}
	}
	who := askers{device, ask.UID}
	if why := r.admit(who, began); why != nil {
		return guard.Room{}, nil, why
	}
	defer r.release(who)
	r.Sample(ctx)
	free := r.freeOn(device)
	for range claimSamples {
		if free < ask.Bytes+slack || ctx.Err() != nil {
			break
		}
		bounded.Sleep(ctx, settlePause) // the sample may have come too early for the driver's figure
		r.Sample(ctx)
		free = r.freeOn(device)
	}
	if free >= ask.Bytes+slack {
		// The driver reports enough free memory, contrary to the process's claim: nothing is flushed.
		return guard.Room{Free: free}, func(came guard.RescueOutcome) { r.noteRescue(ask, nil, came, "") }, nil
	}
	givers, reason := r.give(ctx, ask, device)
	room := guard.Room{Free: r.freeOn(device)}
	for _, by := range givers {
		room.Freed += by.freed
	}
	switch {
	case reason == "" && room.Free >= ask.Bytes:
		return room, func(came guard.RescueOutcome) { r.noteRescue(ask, givers, came, "") }, nil
	case len(givers) > 0:
		reason = fmt.Sprintf("%s freed, and %s are free", room.Freed, room.Free)
	}
	if now := r.Clock(); r.isNews(who, refusal{ask.Process, strings.Map(guard.WithoutDigits, reason)}, now) {
		r.noteRescue(ask, givers, guard.RescueOutcome{Known: true, Waited: now.Sub(began)}, reason)
	}
	return refuse(guard.NoRoom, "%s", reason)
}

func refuse(code string, format string, args ...any) (guard.Room, func(guard.RescueOutcome), error) {
	return guard.Room{}, nil, &guard.RescueError{Code: code, Reason: fmt.Sprintf(format, args...)}
}

// give flushes processes until there is room. It returns those that freed memory and, if there is no
// room, why. After a process that is late, refuses or frees too little it goes on to the next.
func (r *Runner) give(ctx context.Context, ask guard.Ask, device string) (givers []giver, reason string) {
	var tried []snapshot.RowID
	var late *giver
	before := r.freeOn(device)
	until := time.Now().Add(giveTime) // until when it waits for others' flushes
	for ctx.Err() == nil {
		plan := r.decide(ctx, ask, device, until, tried)
		if len(plan) == 0 {
			return givers, ""
		}
		if plan[0].Kind != snapshot.GuardActs {
			reason = cmp.Or(reason, plan[0].Reason)
			break
		}
		reason = ""
		for i, d := range plan {
			if ctx.Err() != nil || i > 0 && (reason != "" || r.freeOn(device) >= ask.Bytes) {
				r.withdraw(d)
				continue
			}
			tried = append(tried, d.Row)
			by := giver{row: d.Row, name: d.Name}
			var inTime bool
			if by.freed, reason, inTime = r.carry(ctx, d, device, ask.Bytes, before); !inTime {
				late = &by
			} else if reason == "" {
				givers = append(givers, by)
				before += by.freed
				settled, stop := context.WithTimeout(ctx, giveTime)
				r.await(settled, device, ask.Bytes, before)
				stop()
			}
		}
	}
	free := r.freeOn(device)
	if late != nil {
		free = r.await(ctx, device, ask.Bytes, ask.Bytes)
		if late.freed = free - before; late.freed > 0 {
			givers = append(givers, *late)
		}
	}
	if free < ask.Bytes {
		return givers, cmp.Or(reason, "there was no time left")
	}
	return givers, ""
}

// carry carries out one decision and returns what it freed, or why it freed nothing. inTime is
// false if the memory was not freed in time; the flush then goes on, and is measured and logged
// afterwards.
func (r *Runner) carry(ctx context.Context, d guard.Decision, device string, needed, before quantity.Bytes) (freed quantity.Bytes, reason string, inTime bool) {
	done := make(chan guard.Outcome, 1)
	r.carried.Go(func() {
		o := r.Carry(context.WithoutCancel(ctx), d, device)
		r.finish(d, o)
		done <- o
	})
	largest, until := before, time.Now().Add(giveTime)
	for ctx.Err() == nil && time.Now().Before(until) {
		select {
		case o := <-done:
			return max(o.Driver.Or(o.Freed), 0), o.Refused, true
		case <-ctx.Done():
		case <-time.After(settlePause):
			r.Sample(ctx)
			switch free := r.freeOn(device); {
			case free >= needed:
				return max(free-before, 0), "", true
			case free > largest: // the process frees in parts
				largest, until = free, time.Now().Add(giveTime)
			}
		}
	}
	if ctx.Err() == nil {
		r.mu.Lock()
		r.engine.Late(d)
		r.mu.Unlock()
	}
	return 0, "PID " + strconv.Itoa(d.Row.Process.PID) + " has not freed its memory in time", false
}

// decide asks the engine which processes to flush, apart from those tried. It first waits, but not
// longer than until, for other flushes on the GPU. After a wait or a flush, it returns none if there
// is room.
func (r *Runner) decide(ctx context.Context, ask guard.Ask, device string, until time.Time, tried []snapshot.RowID) []guard.Decision {
	for waited := len(tried) > 0; ; waited = true {
		if waited && r.freeOn(device) >= ask.Bytes {
			return nil
		}
		r.mu.Lock()
		waits := r.engine.UnderWay(ask.GPUUUID) && ctx.Err() == nil && time.Now().Before(until)
		if !waits {
			defer r.mu.Unlock()
			return r.engine.Rescue(r.latest, ask, tried...)
		}
		r.mu.Unlock()
		bounded.Sleep(ctx, settlePause)
		r.Sample(ctx)
	}
}

// await returns how much is free on a device. If processes report that they have freed enough, it
// waits for the figure of the device, which may be older than theirs.
func (r *Runner) await(ctx context.Context, device string, needed, expected quantity.Bytes) quantity.Bytes {
	free := r.freeOn(device)
	for free < needed && expected >= needed {
		if bounded.Sleep(ctx, settlePause); ctx.Err() != nil {
			return free
		}
		r.Sample(ctx)
		free = r.freeOn(device)
	}
	return free
}

// freeOn returns how much is free on a GPU or instance by the newest snapshot, 0 if unknown.
func (r *Runner) freeOn(device string) quantity.Bytes {
	switch g, in := r.newest().Device(device); {
	case in != nil:
		return snapshot.FreeOf(&in.Memory).Or(0)
	case g != nil:
		return snapshot.FreeOf(&g.Memory).Or(0)
	}
	return 0
}

func (r *Runner) newest() *snapshot.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.latest
}

// noteRescue makes the event of a rescue: which process asked for how much, which processes freed
// memory, how long the process waited, and whether the allocation then succeeded.
func (r *Runner) noteRescue(ask guard.Ask, givers []giver, came guard.RescueOutcome, reason string) {
	if r.Note == nil {
		return
	}
	snap := r.newest()
	e := snapshot.Event{
		Time: r.Clock(), Kind: snapshot.EventNotRescued, Severity: snapshot.Notice, GPUUUID: ask.GPUUUID,
		Row: snapshot.RowID{Process: ask.Process, GPUUUID: ask.GPUUUID}, Bytes: quantity.From(ask.Bytes, quantity.Probe),
	}
	if g := snap.GPU(ask.GPUUUID); g != nil {
		e.GPU = g.Index
	}
	for p := range snap.ProcessRows(ask.Process) {
		if p.ID.GPUUUID == ask.GPUUUID {
			e.Row, e.User, e.Name = p.ID, p.User, p.ProgramName()
		}
	}
	gave := ""
	for i, by := range givers {
		gave += [...]string{"; ", ", "}[min(i, 1)] + fmt.Sprintf("%s by %d %s", by.freed, by.row.Process.PID, by.name)
	}
	waited := ""
	if came.Waited >= time.Millisecond {
		waited = " after " + came.Waited.Round(time.Millisecond).String()
	}
	switch {
	case came.Known && came.Succeeded:
		e.Kind, e.Severity = snapshot.EventRescued, 0
		e.Message = fmt.Sprintf("rescued: an allocation of %s succeeded%s%s", ask.Bytes, waited, gave)
	case reason != "":
		e.Message = fmt.Sprintf("not rescued: an allocation of %s%s: %s%s", ask.Bytes, waited, reason, gave)
	case came.Known:
		e.Message = fmt.Sprintf("not rescued: an allocation of %s failed again%s%s", ask.Bytes, waited, gave)
	default:
		e.Message = fmt.Sprintf("not rescued: what came of an allocation of %s was not reported%s", ask.Bytes, gave)
	}
	r.Note(e)
}

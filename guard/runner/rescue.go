package runner

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"vramscope/guard"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

const (
	// rescueTime is less than the two seconds that a process waits.
	rescueTime = 1800 * time.Millisecond
	// mostRescues begin in a minute on a GPU: each takes a sample.
	mostRescues = 20
	// slack is how much may be free on a GPU and not be allocated: the driver
	// allocates in pages, and keeps a part for itself.
	slack = 32 * quantity.MiB
	// claimSamples are the samples taken to find out whether as much is free as a
	// process failed to allocate.
	claimSamples = 4
	// settlePause is between two samples.
	settlePause = 50 * time.Millisecond
)

// rescues are those of one GPU.
type rescues struct {
	underWay bool
	begun    []time.Time // in the last minute
}

// giver is a process that was flushed for another.
type giver struct {
	row   snapshot.RowID
	name  string
	freed quantity.Bytes
}

// Rescue has less important processes free memory for one whose allocation has
// failed, and returns when there is room; the function takes the outcome of the
// allocation. Where there is no room to be had the error, a *guard.RescueError, comes
// at once.
func (r *Runner) Rescue(ctx context.Context, ask guard.Ask) (guard.Room, func(guard.RescueOutcome), error) {
	if mode := r.State().Mode; mode != guard.Act || r.Flusher == nil || r.Sample == nil {
		return refuse(guard.NotActing, "the guard does not act: its mode is %s", mode)
	}
	began := r.Clock()
	if refusal := r.admit(ask.GPUUUID, began); refusal != nil {
		return guard.Room{}, nil, refusal
	}
	defer r.release(ask.GPUUUID)
	ctx, cancel := context.WithTimeout(ctx, rescueTime)
	defer cancel()
	snap := r.Sample(ctx)
	g, _ := snap.Device(ask.GPUUUID)
	if g == nil {
		return refuse(guard.NoRoom, "the GPU is not known")
	}
	device := ask.GPUUUID
	ask.GPUUUID = g.UUID
	free := r.freeOn(device)
	for range claimSamples {
		if free < ask.Bytes+slack || ctx.Err() != nil {
			break
		}
		r.pause(ctx) // the driver's answer may have missed the sample
		snap = r.Sample(ctx)
		free = r.freeOn(device)
	}
	if free >= ask.Bytes+slack {
		// The driver's figure counts, not the claim: nothing is flushed.
		return guard.Room{Free: free}, func(came guard.RescueOutcome) { r.noteRescue(ask, nil, came, "") }, nil
	}
	givers, reason := r.give(ctx, snap, ask, device)
	room := guard.Room{}
	for _, by := range givers {
		room.Freed += by.freed
	}
	room.Free = r.await(ctx, device, ask.Bytes, free+room.Freed)
	switch {
	case reason == "" && room.Free >= ask.Bytes:
		return room, func(came guard.RescueOutcome) { r.noteRescue(ask, givers, came, "") }, nil
	case len(givers) > 0:
		reason = fmt.Sprintf("%s freed, and %s are free", room.Freed, room.Free)
	}
	waited := r.Clock().Sub(began)
	r.noteRescue(ask, givers, guard.RescueOutcome{Known: true, Waited: waited}, reason)
	return refuse(guard.NoRoom, "%s", reason)
}

func refuse(code string, format string, args ...any) (guard.Room, func(guard.RescueOutcome), error) {
	return guard.Room{}, nil, &guard.RescueError{Code: code, Reason: fmt.Sprintf(format, args...)}
}

// admit lets one rescue at a time begin on a GPU, and so many in a minute.
func (r *Runner) admit(uuid string, now time.Time) *guard.RescueError {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latest == nil {
		return &guard.RescueError{Code: guard.RescueBusy, Reason: "there is no snapshot yet"}
	}
	if g, _ := r.latest.Device(uuid); g == nil {
		return &guard.RescueError{Code: guard.NoRoom, Reason: "the GPU is not known"}
	}
	of := r.rescues[uuid]
	if of == nil {
		of = &rescues{}
		r.rescues[uuid] = of
	}
	of.begun = slices.DeleteFunc(of.begun, func(then time.Time) bool { return now.Sub(then) >= time.Minute })
	switch {
	case of.underWay:
		return &guard.RescueError{Code: guard.RescueBusy, Reason: "another rescue is under way on this GPU"}
	case len(of.begun) >= mostRescues:
		return &guard.RescueError{Code: guard.RescueLimit, Reason: "the limit of " + strconv.Itoa(mostRescues) + " rescues a minute on a GPU is reached"}
	}
	of.underWay = true
	of.begun = append(of.begun, now)
	return nil
}

func (r *Runner) release(uuid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rescues[uuid].underWay = false
}

// give carries out what the engine decides until there is room, and returns who gave,
// or why none did.
func (r *Runner) give(ctx context.Context, snap *snapshot.Snapshot, ask guard.Ask, device string) (givers []giver, reason string) {
	before := r.freeOn(device)
	for i, d := range r.decide(ctx, snap, ask, device) {
		if d.Kind != guard.Acts {
			return nil, d.Reason
		}
		if ctx.Err() != nil || i > 0 && r.freeOn(device) >= ask.Bytes {
			r.finish(d, guard.Outcome{Time: r.Clock(), Refused: "the rescue has ended before"})
			continue
		}
		done := make(chan guard.Outcome, 1)
		// It may take longer than the rescue, and is finished.
		r.carried.Go(func() {
			o := r.Carry(context.WithoutCancel(ctx), d, device)
			r.finish(d, o)
			done <- o
		})
		freed := quantity.Bytes(-1)
		for freed < 0 && reason == "" {
			select {
			case o := <-done:
				freed, reason = max(o.Driver.Or(o.Freed), 0), o.Refused
			case <-ctx.Done():
				reason = "PID " + strconv.Itoa(d.Row.Process.PID) + " has not freed its memory in time"
			case <-time.After(settlePause):
				// The caller need not wait until the flush is compared and logged.
				r.Sample(ctx)
				if free := r.freeOn(device); free >= ask.Bytes {
					freed = max(free-before, 0)
				}
			}
		}
		if freed >= 0 && reason == "" {
			givers = append(givers, giver{row: d.Row, name: d.Name, freed: freed})
			before += freed
		}
	}
	return givers, reason
}

// decide asks the engine who gives, once no other flush is under way on the GPU:
// none, where that one has made room.
func (r *Runner) decide(ctx context.Context, snap *snapshot.Snapshot, ask guard.Ask, device string) []guard.Decision {
	for waited := false; ; waited = true {
		if waited && r.freeOn(device) >= ask.Bytes {
			return nil
		}
		r.mu.Lock()
		waits := r.engine.UnderWay(ask.GPUUUID) && ctx.Err() == nil
		if !waits {
			defer r.mu.Unlock()
			return r.engine.Rescue(snap, ask)
		}
		r.mu.Unlock()
		r.pause(ctx)
		snap = r.Sample(ctx)
	}
}

// await returns how much is free on a device. Where as much as is needed should be, by
// what processes have freed, it waits for the device's figure: that of a process may
// be newer.
func (r *Runner) await(ctx context.Context, device string, needed, expected quantity.Bytes) quantity.Bytes {
	free := r.freeOn(device)
	for free < needed && expected >= needed {
		if r.pause(ctx); ctx.Err() != nil {
			return free
		}
		r.Sample(ctx)
		free = r.freeOn(device)
	}
	return free
}

func (r *Runner) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(settlePause):
	}
}

// freeOn is how much is free on a GPU or instance by the newest snapshot; 0 where
// that is not known.
func (r *Runner) freeOn(device string) quantity.Bytes {
	r.mu.Lock()
	g, in := r.latest.Device(device)
	r.mu.Unlock()
	switch {
	case in != nil:
		return snapshot.FreeOf(&in.Memory).Or(0)
	case g != nil:
		return snapshot.FreeOf(&g.Memory).Or(0)
	}
	return 0
}

// noteRescue makes the event of a rescue: who asked for how much, who gave, how long
// the caller waited, and whether the allocation then succeeded.
func (r *Runner) noteRescue(ask guard.Ask, givers []giver, came guard.RescueOutcome, reason string) {
	if r.Note == nil {
		return
	}
	r.mu.Lock()
	snap := r.latest
	r.mu.Unlock()
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

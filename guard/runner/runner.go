package runner

import (
	"context"
	"slices"
	"sync"
	"time"

	"vramscope/action"
	"vramscope/action/flush"
	"vramscope/guard"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Flusher flushes a process. A *flush.Flusher without a Note is one.
type Flusher interface {
	Run(context.Context, flush.Request) (flush.Result, error)
}

// Runner runs an engine. Its methods may be called by any goroutine.
type Runner struct {
	Flusher Flusher                                  // nil if the engine is never in mode act
	Sample  func(context.Context) *snapshot.Snapshot // for rescues: takes a snapshot, which the runner observes too
	Note    func(snapshot.Event)                     // takes the events; must not wait
	Log     *action.Log                              // takes decisions but no flushes, which action/flush logs; may be nil
	Failed  func(error)                              // is called if the audit log cannot be written; may be nil
	Clock   func() time.Time
	// Wanted returns what the first claim for a lease waits for. It must not wait. May be nil.
	Wanted func() (free map[string]quantity.Bytes, devices int)

	mu     sync.Mutex
	engine *guard.Engine
	latest *snapshot.Snapshot

	waiting chan job

	rescues map[askers]*rescues
	carried sync.WaitGroup // the flushes under way
}

type job struct {
	decision guard.Decision
	device   string
}

// mostWaiting limits the decisions that wait for Run, which begins each at once.
const mostWaiting = 64

// New makes a Runner; set its fields before it observes.
func New(engine *guard.Engine) *Runner {
	return &Runner{engine: engine, waiting: make(chan job, mostWaiting), rescues: make(map[askers]*rescues), Clock: time.Now}
}

// Observe takes the next snapshot, and returns the guard's state.
func (r *Runner) Observe(snap *snapshot.Snapshot) *snapshot.Guard {
	r.mu.Lock()
	r.latest = snap
	if r.Wanted != nil {
		r.engine.Want(r.Wanted())
	}
	decisions := r.engine.Decide(snap)
	r.mu.Unlock()
	r.publish(snap, decisions)
	for _, d := range decisions {
		if d.Kind != snapshot.GuardActs {
			continue
		}
		select {
		case r.waiting <- job{decision: d, device: snap.DeviceUUID(d.Row)}:
		default:
			r.withdraw(d)
		}
	}
	return r.State()
}

// State returns the guard's state.
func (r *Runner) State() *snapshot.Guard {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.engine.State()
}

// Pause stops the guard until a time; a time in the past ends a pause.
func (r *Runner) Pause(until time.Time) *snapshot.Guard {
	if !until.After(r.Clock()) {
		until = time.Time{} // the newest snapshot, which is the clock of the engine, is older
	}
	r.mu.Lock()
	d, snap := r.engine.Pause(until), r.latest
	r.mu.Unlock()
	r.publish(snap, []guard.Decision{d})
	return r.State()
}

// Keep returns the state from which the runner of the next process continues.
func (r *Runner) Keep() guard.Kept {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.engine.Keep()
}

// TakeOver continues from the state that another runner has kept.
func (r *Runner) TakeOver(k guard.Kept) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engine.TakeOver(k, r.Clock())
}

// Prove lets the guard act only while its flushes can be logged.
func (r *Runner) Prove() {
	reason := ""
	if err := r.Log.Prove(); err != nil {
		reason = err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engine.Cannot(reason)
}

// proveEvery is the time between two proofs.
const proveEvery = 5 * time.Second

// Run carries out decisions until the context ends, each at once, so that a process that does
// not answer delays no other. Then it waits for the flushes under way.
func (r *Runner) Run(ctx context.Context) {
	proofs := time.NewTicker(proveEvery)
	defer proofs.Stop()
	for {
		select {
		case <-proofs.C:
			r.Prove()
		case <-ctx.Done():
			r.carried.Wait()
			return
		case j := <-r.waiting:
			r.carried.Go(func() { r.finish(j.decision, r.Carry(ctx, j.decision, j.device)) })
		}
	}
}

// Carry carries out one decision on a device and returns its outcome. A gradual flush stops
// as soon as enough is free.
func (r *Runner) Carry(ctx context.Context, d guard.Decision, device string) guard.Outcome {
	steps, stop := context.WithCancel(ctx)
	defer stop()
	goal, free := d.Goal.Or(0), d.Free.Or(0)
	result, err := r.Flusher.Run(steps, flush.Request{
		Process: d.Row.Process, Level: flush.Level(d.Level), Devices: []string{device}, Origin: action.Policy(d.Rule), Reason: d.Reason,
		Progress: func(so flush.Result) {
			if free+so.Freed() >= goal {
				stop()
			}
		},
	})
	o := guard.Outcome{Time: r.Clock(), Freed: result.Freed(), Reason: result.Reason}
	switch dropped, known := result.DriverFreed().Value(); {
	case err != nil && len(result.Devices) == 0:
		o.Refused = action.Reason(err)
	case err != nil:
		o.Reason = action.Reason(err)
		fallthrough
	case known && !slices.ContainsFunc(result.Devices, func(d flush.Device) bool { return d.Whole }): // a figure of a whole device contains what others allocate
		o.Driver = quantity.From(dropped, quantity.Driver)
	}
	return o
}

// finish passes an outcome to the engine, and publishes the decisions that follow.
func (r *Runner) finish(d guard.Decision, o guard.Outcome) {
	r.mu.Lock()
	decisions, snap := r.engine.Finished(d, o), r.latest
	r.mu.Unlock()
	r.publish(snap, decisions)
}

func (r *Runner) withdraw(d guard.Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engine.Withdraw(d)
}

// publish makes events of decisions, and lines of the audit log.
func (r *Runner) publish(snap *snapshot.Snapshot, decisions []guard.Decision) {
	for i := range decisions {
		d := &decisions[i]
		if d.Kind == snapshot.GuardActs {
			continue // the outcome follows as a decision, and action/flush logs the flush
		}
		if r.Note != nil {
			r.Note(EventOf(d))
		}
		if err := r.record(snap, d); err != nil && r.Failed != nil {
			r.Failed(err)
		}
	}
}

// EventOf returns the event of a decision.
func EventOf(d *guard.Decision) snapshot.Event {
	kept := *d
	e := snapshot.Event{
		Time: d.Time, Kind: snapshot.EventGuard, GPU: d.GPU, GPUUUID: d.GPUUUID, Row: d.Row, User: d.User, Name: d.Name,
		Message: "guard: " + d.Message, Bytes: d.Expected, Decision: &kept,
	}
	if d.Kind == snapshot.GuardFlushed {
		e.Kind = snapshot.EventFlush
	}
	if d.Measured.Known() {
		e.Bytes = d.Measured
	}
	return e
}

// record logs a decision. A flush that was done or refused is logged already.
func (r *Runner) record(snap *snapshot.Snapshot, d *guard.Decision) error {
	if r.Log == nil || d.Kind == snapshot.GuardFlushed || d.Kind == snapshot.GuardRefused {
		return nil
	}
	e := action.NewEntry("guard", d.Row.Process, action.Policy(d.Rule))
	e.About(snap, d.Row.Process)
	e.Outcome, e.Reason, e.Level, e.Expected, e.DriverBytes = string(d.Kind), d.Reason, d.Level, d.Expected, d.Measured
	if d.GPUUUID != "" {
		e.GPUs, e.Devices = []int{d.GPU}, []string{d.GPUUUID}
	}
	return r.Log.Record(e)
}

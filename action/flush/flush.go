package flush

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"vramscope/action"
	"vramscope/internal/bounded"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
	"vramscope/server"
)

// Prober asks probes to flush: real ones, or those of a simulated box.
type Prober interface {
	Flush(context.Context, process.Identity, probe.FlushRequest) (probe.FlushResult, error)
	// Answers returns the newest stats of the probes.
	Answers() []probe.Answer
}

type Flusher struct {
	Probes  Prober
	Sample  func(context.Context) *snapshot.Snapshot // takes a fresh snapshot
	Log     *action.Log                              // nil: nothing is logged
	Note    func(snapshot.Event)                     // takes the event of a flush, or of its failure; may be nil
	Clock   func() time.Time
	Servers func(process.Identity) (*server.Server, error) // finds the server of a process
	// Hold makes leases hold what a server has freed, for a time, or ends them (0). It returns
	// notes about the result. May be nil.
	Hold func(context.Context, *server.Server, *Result, time.Duration) []string

	sleep func(context.Context, time.Duration) // in tests; nil: bounded.Sleep
}

const (
	stepPause = 400 * time.Millisecond // the program continues, and the flush can be stopped
	steps     = 4
	// How long to wait for new stats, and for the driver's new figure.
	statsTimeout  = 300 * time.Millisecond
	driverTimeout = time.Second
	driverPause   = 100 * time.Millisecond
)

// Run flushes a process, or asks its server to sleep or wake. If the context ends meanwhile, a flush
// waits for the step under way and starts no other; for a server, Run stops waiting at once. If
// nothing was done, the error is a *process.Refusal, or comes from the probe or the server.
func (f *Flusher) Run(ctx context.Context, r Request) (Result, error) {
	before := f.Sample(context.WithoutCancel(ctx))
	entry := action.NewEntry("flush", r.Process, r.Origin)
	entry.About(before, r.Process)
	entry.Level, entry.Devices, entry.Reason = string(r.Level), r.Devices, r.Reason
	expected, act, hold := Returnable(before, r), f.flush, func(*Result) {}
	refusal := Refusal(before, r)
	if OfServer(r.Level) {
		refusal = nil // the server decides, not the rows
		a, err := f.ask(ctx, r, before)
		if errors.As(err, &refusal); err == nil {
			expected, act, entry.Method, entry.Version = a.expected, a.run, a.server.Key, a.state.Version
			hold = func(result *Result) { a.hold(ctx, r, result) }
			if !r.DryRun {
				defer func() { _ = a.only.Close() }() // the file was only locked
			}
		} else if refusal == nil {
			return Result{}, err
		}
	}
	entry.Expected = quantity.From(expected, quantity.Probe)
	if refusal != nil {
		if r.DryRun {
			return Result{}, refusal
		}
		return Result{}, f.Log.Refuse(entry, refusal)
	}
	if r.DryRun {
		return act(ctx, r, before)
	}
	var result Result
	flushed := false
	err := f.Log.Do(entry, func(e *action.Entry) (err error) {
		if result, err = act(ctx, r, before); err == nil {
			flushed = true
			e.Outcome, e.Reason, e.FreedBytes = result.Outcome(), result.Reason, quantity.From(result.Freed(), quantity.Probe)
			e.CollectedBytes, e.DriverBytes = result.Collected(), result.DriverFreed()
		}
		return err
	})
	if flushed {
		hold(&result)
	}
	switch {
	case f.Note == nil:
	case flushed:
		event := action.NewEvent(f.Clock(), before, snapshot.EventFlush, r.Process, r.Devices...)
		event.Message, event.Bytes = result.Sentence(""), quantity.From(result.Freed(), quantity.Probe)
		f.Note(event)
	case !action.Refused(err):
		f.Note(action.NewFailure(f.Clock(), before, "flush", r.Process, err, r.Devices...))
	}
	return result, err
}

// Refusal returns why the process cannot be flushed. It is nil if one of the process's rows on the
// devices can be flushed, or if the process has no row there: then its probe decides.
func Refusal(snap *snapshot.Snapshot, r Request) *process.Refusal {
	reason := ""
	for _, row := range action.Rows(snap, r.Process, r.Devices...) {
		if reason = row.FlushRefusal(snap.Host.User); reason == "" {
			return nil
		}
	}
	if reason == "" {
		return nil
	}
	return &process.Refusal{Reason: reason}
}

// flush carries out the steps, and compares the result with the driver's figures.
func (f *Flusher) flush(ctx context.Context, r Request, before *snapshot.Snapshot) (Result, error) {
	finish := context.WithoutCancel(ctx)
	result := Result{Level: r.Level, DryRun: r.DryRun, Returnable: Returnable(before, r)}
	keeps := keeps(before, r)
	result.Steps = len(keeps)
	asked := f.Clock()
	skipped := false
	for i, keep := range keeps {
		if skipped && keep > 0 {
			continue // the process cannot free a part: the last step asks for all
		}
		if i > 0 {
			f.pause(ctx, stepPause)
			if ctx.Err() != nil {
				result.Stopped = true
				break
			}
		}
		asked = f.Clock()
		answer, err := f.Probes.Flush(finish, r.Process, probe.FlushRequest{
			Level: r.Level, KeepBytes: keep, DryRun: r.DryRun, Devices: r.Devices,
		})
		if errors.Is(err, probe.ErrLate) && !errors.Is(err, probe.ErrUnsent) {
			err = fmt.Errorf("%w: it may still happen", err)
		}
		if err != nil && i == 0 {
			return Result{}, err
		}
		if err != nil {
			result.Reason = "after step " + strconv.Itoa(result.Step) + " of " + strconv.Itoa(result.Steps) + ": " + action.Reason(err)
			break
		}
		result.Step = i + 1
		result.add(&answer)
		skipped = answer.SkippedReason != ""
		if i > 0 && result.Freed() >= result.Returnable {
			result.Reason = "" // the previous steps have left nothing
		}
		if r.Progress != nil && i+1 < len(keeps) {
			r.Progress(result)
		}
	}
	f.compare(finish, &result, r.Process, before, asked)
	return result, nil
}

// Returnable returns what a flush of the process should free, by its probe.
func Returnable(snap *snapshot.Snapshot, r Request) quantity.Bytes {
	var sum quantity.Bytes
	for _, p := range action.Rows(snap, r.Process, r.Devices...) {
		sum += p.Frees()
	}
	return sum
}

// keeps returns how much the process may keep after each step.
func keeps(snap *snapshot.Snapshot, r Request) []quantity.Bytes {
	var largest quantity.Bytes
	parts := r.Level == Gradual && !r.DryRun
	for _, p := range action.Rows(snap, r.Process, r.Devices...) {
		largest = max(largest, p.Frees())
		parts = parts && p.FlushesInParts()
	}
	if !parts || largest <= 0 {
		return []quantity.Bytes{0}
	}
	var keeps []quantity.Bytes
	for left := steps - 1; left >= 0; left-- {
		keeps = append(keeps, largest/steps*quantity.Bytes(left))
	}
	return keeps
}

func (r *Result) add(answer *probe.FlushResult) {
	r.Took += time.Duration(answer.Milliseconds * float64(time.Millisecond))
	r.Reason, r.Notes = answer.SkippedReason, answer.Notes
	for i := range answer.Devices {
		d := &answer.Devices[i]
		known := false
		for j := range r.Devices {
			if r.Devices[j].UUID == d.UUID {
				r.Devices[j].After, r.Devices[j].Collected, known = d.AfterBytes, d.CollectedBytes, true
			}
		}
		if !known {
			r.Devices = append(r.Devices, Device{UUID: d.UUID, Before: d.BeforeBytes, After: d.AfterBytes, Collected: d.CollectedBytes})
		}
	}
}

func (f *Flusher) pause(ctx context.Context, d time.Duration) {
	sleep := bounded.Sleep
	if f.sleep != nil {
		sleep = f.sleep
	}
	sleep(ctx, d)
}

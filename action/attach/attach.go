package attach

import (
	"context"
	"fmt"
	"time"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/probe/attach"
	"vramscope/sampler/snapshot"
)

type (
	// Plan is how a probe would get into a process, or why it cannot.
	Plan = attach.Plan
	// Check is one condition for attaching, in a few words.
	Check = attach.Check
)

const (
	GDB        = attach.GDB
	RemoteExec = attach.RemoteExec
)

type Request struct {
	Process process.Identity
	Origin  action.Origin
}

type Result = attach.Result

// Way gets a probe into a process: probe/attach's Attacher.
type Way interface {
	// Examine finds every reason for and against. It changes nothing.
	Examine(context.Context, process.Identity) Plan
	// Enter carries out a plan, which must have no refusal.
	Enter(context.Context, *Plan) (Result, error)
}

// Attacher puts probes into processes of its own user.
type Attacher struct {
	Way
	Latest func() *snapshot.Snapshot // the newest, which has the GPUs of the process; may be nil
	Log    *action.Log
	Note   func(snapshot.Event) // takes the event of a probe that was attached, or of its failure; may be nil
	Clock  func() time.Time
}

// Run puts a probe into a process, and returns once the probe answers. If nothing was done the
// error is a *process.Refusal.
func (a *Attacher) Run(ctx context.Context, r Request) (Result, error) {
	plan := a.Examine(ctx, r.Process)
	var snap *snapshot.Snapshot
	if a.Latest != nil {
		snap = a.Latest()
	}
	entry := action.NewEntry("attach", r.Process, r.Origin)
	entry.About(snap, r.Process)
	if len(plan.Command) > 0 {
		entry.Runs(plan.User, plan.Command)
	}
	entry.Method, entry.Interpreter, entry.Version = string(plan.Method), plan.Interpreter, plan.Version
	if refusal := plan.Refusal(); refusal != nil {
		return Result{}, a.Log.Refuse(entry, refusal)
	}
	var result Result
	attached := false
	err := a.Log.Do(entry, func(e *action.Entry) (err error) {
		result, err = a.Enter(ctx, &plan)
		e.Outcome, attached = "attached", err == nil
		if plan.Method == attach.GDB {
			e.StandstillMS = action.Milliseconds(result.Standstill)
		}
		return err
	})
	switch {
	case a.Note == nil:
	case attached:
		event := action.NewEvent(a.Clock(), snap, snapshot.EventAttach, r.Process)
		event.Message = fmt.Sprintf("attached a probe to %d by %s%s", r.Process.PID, result.Method, paused(result))
		a.Note(event)
	case !action.Refused(err):
		a.Note(action.NewFailure(a.Clock(), snap, "attach", r.Process, err))
	}
	return result, err
}

// Sentence returns "attached to 2963112 (paused 59 ms)".
func Sentence(pid int, r Result) string { return fmt.Sprintf("attached to %d%s", pid, paused(r)) }

func paused(r Result) string {
	switch {
	case r.Method != attach.GDB:
		return ""
	case r.Standstill < time.Millisecond:
		return " (paused less than 1 ms)"
	default:
		return fmt.Sprintf(" (paused %d ms)", r.Standstill.Round(time.Millisecond).Milliseconds())
	}
}

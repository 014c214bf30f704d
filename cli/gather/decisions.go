package gather

import (
	"time"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// LoggedDecisions are those of the audit log, whose lines have no sentence.
func LoggedDecisions(log *action.Log, since time.Time) (found []snapshot.GuardDecision, err error) {
	err = log.Read(func(e *action.Entry) {
		if e.By != "policy" || e.Outcome == "begin" {
			return
		}
		if d := decisionOf(e); !d.Time.Before(since) {
			found = append(found, d)
		}
	})
	return found, err
}

func decisionOf(e *action.Entry) snapshot.GuardDecision {
	d := snapshot.GuardDecision{
		Time: e.At(), Kind: snapshot.GuardDecisionKind(e.Outcome), Rule: e.Why, User: e.Target, Level: e.Level, Reason: e.Reason,
		Row: snapshot.RowID{Process: process.Identity{PID: e.PID, StartTime: e.StartTime}},
	}
	if len(e.GPUs) > 0 && len(e.Devices) > 0 {
		d.GPU, d.GPUUUID, d.Row.GPUUUID = e.GPUs[0], e.Devices[0], e.Devices[0]
	}
	if e.Expected != nil {
		d.Expected = quantity.From(*e.Expected, quantity.Probe)
	}
	if e.DriverBytes != nil {
		d.Measured = quantity.From(*e.DriverBytes, quantity.Driver)
	}
	if e.Action == "flush" {
		switch e.Outcome {
		case "refused", "failed":
			d.Kind = snapshot.GuardRefused
		default:
			d.Kind = snapshot.GuardFlushed
		}
	}
	d.Message = d.Sentence()
	return d
}

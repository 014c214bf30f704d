package gather

import (
	"time"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
)

// Decisions are those that a daemon has recorded, oldest first.
func Decisions(r *recording.Recording, from, to time.Time) ([]snapshot.GuardDecision, error) {
	rows, err := r.Decisions(from, to)
	if err != nil {
		return nil, err
	}
	index := map[string]int{}
	if then, ok := r.At(to); ok {
		for i := range then.GPUs {
			index[then.GPUs[i].UUID] = then.GPUs[i].Index
		}
	}
	var found []snapshot.GuardDecision
	for i := range rows {
		d := &rows[i]
		found = append(found, snapshot.GuardDecision{
			Time: d.Time, Kind: d.Kind, Rule: d.Rule, GPU: index[d.GPUUUID], GPUUUID: d.GPUUUID, Instance: d.Instance, Row: d.Row(), User: d.User, Name: d.Name,
			Level: d.Level, Free: d.Free, Goal: d.Goal, Expected: d.Expected, Measured: d.Measured, Reason: d.Reason, Message: d.Message,
		})
	}
	return found, nil
}

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

package gather

import (
	"cmp"
	"slices"
	"time"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/recording"
	evaluation "vramscope/recording/report"
	"vramscope/sampler/snapshot"
)

// LoggedDecisions returns the guard's decisions in the audit log since a time. It composes their
// messages, which the log does not have.
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
		Time: e.At(), Kind: snapshot.GuardDecisionKind(e.Outcome), Rule: e.Why, User: e.Target, Level: e.Level, Reason: e.Reason, Expected: e.Expected, Measured: e.DriverBytes,
		Row: snapshot.RowID{Process: process.Identity{PID: e.PID, StartTime: e.StartTime}},
	}
	if len(e.GPUs) > 0 && len(e.Devices) > 0 {
		d.GPU, d.GPUUUID, d.Row.GPUUUID = e.GPUs[0], e.Devices[0], e.Devices[0]
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

// addFlushes adds this user's flushes from the audit log, except those of the guard, which are in the
// recording.
func addFlushes(b *evaluation.Builder, r *recording.Recording, processes []recording.ProcessRow, gpus []snapshot.GPU, log *action.Log) error {
	index := map[string]int{}
	for _, g := range gpus {
		index[g.UUID] = g.Index
	}
	return log.Read(func(e *action.Entry) {
		if e.Action != "flush" || e.Outcome != "flushed" || e.By == "policy" {
			return
		}
		at := e.At()
		place := slices.IndexFunc(processes, func(p recording.ProcessRow) bool {
			return p.ID.Process.PID == e.PID && p.ID.Process.StartTime == e.StartTime && slices.Contains(e.GPUs, index[p.ID.GPUUUID]) &&
				!at.Before(p.First) && at.Before(p.Last.Add(time.Minute)) // the time is compared, too, because start times count from a boot
		})
		if place < 0 {
			return
		}
		row := &processes[place]
		a := snapshot.Event{Time: at, GPUUUID: row.ID.GPUUUID, Row: row.ID, Kind: snapshot.EventFlush, Message: e.Level + " flush", Bytes: cmp.Or(e.DriverBytes, e.FreedBytes)}
		b.AddEvent(&a, stayed(r, &a))
	})
}

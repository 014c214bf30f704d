package gather

import (
	"slices"
	"time"

	"vramscope/action"
	"vramscope/internal/quantity"
	"vramscope/recording"
	evaluation "vramscope/recording/report"
	"vramscope/sampler/snapshot"
)

// addFlushes adds this user's own flushes from the audit log: what a command or a
// monitor does, the daemon that records does not see. Its own, by a policy, it has
// recorded.
func addFlushes(b *evaluation.Builder, r *recording.Recording, processes []recording.ProcessRow, gpus []recording.GPURow, log *action.Log) error {
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
				!at.Before(p.First) && at.Before(p.Last.Add(time.Minute)) // start times are since the boot
		})
		if place < 0 {
			return
		}
		row := &processes[place]
		a := recording.EventRow{Time: at, Subject: recording.Subject{GPUUUID: row.ID.GPUUUID, Process: row}, Kind: snapshot.EventFlush}
		a.Message = e.Level + " flush"
		switch {
		case e.DriverBytes != nil:
			a.Bytes = quantity.From(*e.DriverBytes, quantity.Driver)
		case e.FreedBytes != nil:
			a.Bytes = quantity.From(*e.FreedBytes, quantity.Probe)
		}
		b.AddEvent(&a, stayed(r, &a))
	})
}

package alert

import (
	"encoding/gob"
	"fmt"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// kept is the state that an Evaluator hands to the one of a restarted process:
// alerts that stand stay, and those nearly raised do not start over. Gob matches
// the fields by name: they keep their names.
type kept struct {
	Latches []keptLatch
	Rows    []keptRow
	GPUs    []keptGPU
}

type keptLatch struct {
	Kind     snapshot.AlertKind
	GPUUUID  string
	Instance snapshot.InstanceID
	Row      snapshot.RowID

	Standing     bool
	Hits, Misses int
	First, Last  time.Time

	// of the newest candidate
	Alert         snapshot.Alert
	Soon          time.Duration
	Refuted       quantity.Bytes
	Samples, Gone int // hysteresis, in samples
	After, Hold   time.Duration
}

type keptRow struct {
	Row                  snapshot.RowID
	Since, Grew          time.Time
	OutOfMemory, Retries counter
	Growth               growth
}

type keptGPU struct {
	UUID   string
	Growth growth
	Grew   time.Time
	Errors errorCount
}

// MarshalBinary encodes the Evaluator's state.
func (e *Evaluator) MarshalBinary() ([]byte, error) {
	var k kept
	for key, l := range e.latches {
		c := &l.newest
		k.Latches = append(k.Latches, keptLatch{
			Kind: key.kind, GPUUUID: key.gpuUUID, Instance: key.instance, Row: key.row,
			Standing: l.standing, Hits: l.hits, Misses: l.misses, First: l.first, Last: l.last,
			Alert: c.alert, Soon: c.soon, Refuted: c.refuted,
			Samples: c.hysteresis.samples, Gone: c.hysteresis.misses, After: c.hysteresis.after, Hold: c.hysteresis.hold,
		})
	}
	for id, t := range e.rows {
		k.Rows = append(k.Rows, keptRow{id, t.since, t.grew, t.outOfMemory, t.retries, t.growth})
	}
	for uuid, g := range e.gpus {
		k.GPUs = append(k.GPUs, keptGPU{uuid, g.growth, g.grew, g.errors})
	}
	var b strings.Builder
	if err := gob.NewEncoder(&b).Encode(&k); err != nil {
		return nil, fmt.Errorf("alert: save: %w", err)
	}
	return []byte(b.String()), nil
}

// Restore takes over the state of another Evaluator, whose last snapshot was
// last. Where it fails the Evaluator has no past.
func (e *Evaluator) Restore(data []byte, last *snapshot.Snapshot) error {
	var k kept
	if err := gob.NewDecoder(strings.NewReader(string(data))).Decode(&k); err != nil {
		return fmt.Errorf("alert: restore: %w", err)
	}
	for i := range k.Latches {
		was := &k.Latches[i]
		key := key{kind: was.Kind, gpuUUID: was.GPUUUID, instance: was.Instance, row: was.Row}
		e.latches[key] = &latch{
			standing: was.Standing, hits: was.Hits, misses: was.Misses, first: was.First, last: was.Last,
			newest: candidate{
				key: key, alert: was.Alert, soon: was.Soon, refuted: was.Refuted,
				hysteresis: hysteresis{samples: was.Samples, misses: was.Gone, after: was.After, hold: was.Hold},
			},
		}
	}
	all := allRows(last)
	for i := range k.Rows {
		was := &k.Rows[i]
		row, there := all[was.Row]
		if !there {
			continue // its process is unknown
		}
		e.rows[was.Row] = &rowTrace{
			row: row.process, ended: row.ended, since: was.Since, grew: was.Grew,
			outOfMemory: was.OutOfMemory, retries: was.Retries, growth: was.Growth,
		}
	}
	for i := range k.GPUs {
		was := &k.GPUs[i]
		e.gpus[was.UUID] = &gpuTrace{growth: was.Growth, grew: was.Grew, errors: was.Errors}
	}
	return nil
}

type known struct {
	process *snapshot.Process
	ended   bool
}

// allRows are the live and the ended rows of a snapshot.
func allRows(snap *snapshot.Snapshot) map[snapshot.RowID]known {
	all := make(map[snapshot.RowID]known, len(snap.Rows)+len(snap.Ended))
	for i := range snap.Ended {
		all[snap.Ended[i].Last.ID] = known{&snap.Ended[i].Last, true}
	}
	for i := range snap.Rows {
		all[snap.Rows[i].ID] = known{&snap.Rows[i], false}
	}
	return all
}

package alert

import (
	"vramscope/sampler/snapshot"
)

// xid alerts for the worst critical error of the last minutes, the newest of
// equal ones.
func (e *Evaluator) xid(found []candidate, snap *snapshot.Snapshot, g *snapshot.GPU) []candidate {
	var worst snapshot.XIDMeaning
	var seen snapshot.XID
	n := 0
	for _, x := range g.XIDs {
		if !within(snap.Time, x.Time, xidFor) {
			continue
		}
		n++
		m := x.Meaning()
		if n == 1 || m.Urgent && !worst.Urgent || m.Urgent == worst.Urgent && x.Time.After(seen.Time) {
			worst, seen = m, x
		}
	}
	if n == 0 {
		return found
	}
	a := snapshot.Alert{
		Kind: snapshot.AlertXID, Severity: snapshot.Notice, GPU: g.Index, GPUUUID: g.UUID, Since: seen.Time,
		Note:    note("Xid " + decimal(seen.Code)),
		Message: "GPU " + number(g.Index) + " reported Xid " + decimal(seen.Code),
		Advice:  worst.Advice,
	}
	if worst.Urgent {
		a.Severity = snapshot.Urgent
	}
	if worst.Words != "" {
		a.Note = note(a.Note + " " + worst.Words)
		a.Message += ", " + worst.Words + ","
	}
	a.Message += " at " + clock(seen.Time)
	return append(found, candidate{hysteresis: atOnce, alert: a})
}

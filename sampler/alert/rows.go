package alert

import "vramscope/sampler/snapshot"

func keyOf(kind snapshot.AlertKind, where snapshot.Place) snapshot.AlertKey {
	return snapshot.AlertKey{Kind: kind, GPUUUID: where.GPUUUID, Instance: where.Instance}
}

func (e *Evaluator) present(id snapshot.RowID) bool {
	t := e.rows[id]
	return t != nil && !t.ended
}

// named returns the row that an alert's last candidate named; zero if none, or if the row has ended.
func (e *Evaluator) named(k snapshot.AlertKey) snapshot.RowID {
	if l := e.latches[k]; l != nil && e.present(l.newest.alert.Row) {
		return l.newest.alert.Row
	}
	return snapshot.RowID{}
}

// mostReturnable returns the row of a place whose flush frees the most, nil if none frees anything.
func (e *Evaluator) mostReturnable(where snapshot.Place) *snapshot.Process {
	var best *snapshot.Process
	for p := range e.snap.PlaceRows(where) {
		if frees(p) && (best == nil || p.Returnable.Or(0) > best.Returnable.Or(0)) {
			best = p
		}
	}
	return best
}

// frees reports whether a flush of p frees memory. A silent probe does not answer, figures with a
// mismatch cannot be trusted, and a probe that the daemon asked does not answer this user.
func frees(p *snapshot.Process) bool {
	refuses := p.Probe != nil && (p.Probe.State == snapshot.ProbeSilent || p.Probe.Mismatch || p.Probe.ByDaemon)
	return p.Returnable.Or(0) > 0 && !refuses && !p.ID.Process.Foreign()
}

// remedy returns the flush in a place that is likely to keep the most memory free, "" if none helps.
func (e *Evaluator) remedy(where snapshot.Place) string {
	var best *snapshot.Process
	var lasts snapshot.Lasting
	for p := range e.snap.PlaceRows(where) {
		if !frees(p) || best != nil && p.Frees() <= lasts.Min {
			continue
		}
		if l := snapshot.LastingOf(e.history, e.snap.Time, p); best == nil || l.Min > lasts.Min {
			best, lasts = p, l
		}
	}
	return flushAdvice(best, lasts)
}

// flushAdvice returns the benefit of a flush of p, "" if it has none.
func flushAdvice(p *snapshot.Process, lasts snapshot.Lasting) string {
	if p == nil || lasts.Remedy(p) == "" {
		return ""
	}
	return "F on " + number(p.ID.Process.PID) + " " + lasts.Remedy(p)
}

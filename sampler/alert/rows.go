package alert

import "vramscope/sampler/snapshot"

// place is a GPU, or with an instance a part of one.
type place struct {
	gpuUUID  string
	instance snapshot.InstanceID
}

// at lists the rows of a place in this snapshot. The result holds until the
// next call.
func (e *Evaluator) at(where place) []*snapshot.Process {
	g := e.GPUs[where.gpuUUID]
	switch {
	case g == nil:
		return nil
	case !where.instance.MIG:
		return g.rows
	}
	e.found = e.found[:0]
	for _, p := range g.rows {
		if p.ID.Instance == where.instance {
			e.found = append(e.found, p)
		}
	}
	return e.found
}

// present reports whether a row is in this snapshot.
func (e *Evaluator) present(id snapshot.RowID) bool {
	t := e.Rows[id]
	return t != nil && !t.ended
}

// named is the row that a standing alert names, zero where there is none or the
// row has ended.
func (e *Evaluator) named(k key) snapshot.RowID {
	if l := e.Latches[k]; l != nil && e.present(l.Newest.Alert.Row) {
		return l.Newest.Alert.Row
	}
	return snapshot.RowID{}
}

// mostReturnable is the row of a place whose flush frees most, nil where none
// frees anything.
func (e *Evaluator) mostReturnable(where place) *snapshot.Process {
	var best *snapshot.Process
	for _, p := range e.at(where) {
		if frees(p) && (best == nil || p.Returnable.Or(0) > best.Returnable.Or(0)) {
			best = p
		}
	}
	return best
}

// frees reports whether a flush of p frees memory. A silent probe does not
// answer, and the figures of one with a mismatch cannot be trusted.
func frees(p *snapshot.Process) bool {
	doubtful := p.Probe != nil && (p.Probe.State == snapshot.ProbeSilent || p.Probe.Mismatch)
	return p.Returnable.Or(0) > 0 && !doubtful && !p.ID.Process.Foreign()
}

// flushAdvice is how much a flush of p would free, "" where nothing.
func flushAdvice(p *snapshot.Process) string {
	if p == nil || !frees(p) {
		return ""
	}
	most := ""
	if !p.ReturnableIsExact() {
		most = "up to "
	}
	return "F on " + number(p.ID.Process.PID) + " frees " + most + p.Returnable.Or(0).String()
}

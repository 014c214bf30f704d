package ui

import (
	"cmp"
	"slices"

	"vramscope/action"
	"vramscope/action/flush"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// flushDialog asks before processes are made to give cached memory back. It
// shows each as it is and as it would be, how much of what comes back will
// soon be needed again, and what that costs. Like every dialog it names
// identities, and follows what becomes of them while it is open.
type flushDialog struct {
	look    *cell.Appearance
	history snapshot.History
	now     cell.Moment
	viewer  string
	targets []flushTarget
	chosen  int
	running bool // a dry run has not come back
}

// flushTarget is a row of which memory is asked back.
type flushTarget struct {
	row    snapshot.Process // as it was last seen
	device string           // UUID of the GPU or MIG instance that the row is on
	ended  bool
	gpus   int            // that its process is on
	all    quantity.Bytes // returnable on all of them
	ranks  bool           // its job has more processes on other GPUs
}

// flushLevels are the choices, in their order.
func flushLevels() []flush.Level { return []flush.Level{flush.Gradual, flush.Selective, flush.Urgent} }

// newFlushDialog asks about rows. The gentlest level that frees something is
// the chosen one.
func newFlushDialog(lk *cell.Appearance, now *scene, ids []snapshot.RowID) flushDialog {
	d := flushDialog{look: lk, targets: make([]flushTarget, len(ids))}
	for i, id := range ids {
		d.targets[i] = flushTarget{row: snapshot.Process{ID: id}, ended: true}
		if g := now.shown.EndedRow(id); g != nil {
			d.targets[i].row = g.Last
		}
	}
	d = d.follow(now)
	switch returns, evictable := d.sums(); {
	case returns > 0:
	case evictable:
		d.chosen = slices.Index(flushLevels(), flush.Selective)
	default:
		d.chosen = slices.Index(flushLevels(), flush.Urgent)
	}
	return d
}

// follow takes the processes' newest figures from the state.
func (d flushDialog) follow(now *scene) flushDialog {
	d.history = now.history
	if now.live == nil {
		return d
	}
	d.now, d.viewer = cell.Moment(now.now), now.live.Host.User
	targets := make([]flushTarget, len(d.targets))
	for i := range d.targets {
		targets[i] = d.targets[i].follow(now.live)
	}
	d.targets = targets
	return d
}

func (t flushTarget) follow(s *snapshot.Snapshot) flushTarget {
	id := t.row.ID
	t.ended, t.gpus, t.all, t.ranks = true, 0, 0, false
	if p := s.Row(id); p != nil {
		t.row, t.ended = *p, false
	}
	for p := range s.ProcessRows(id.Process) {
		t.gpus++
		t.all += cell.ReturnableOf(p)
	}
	for i := range s.Rows {
		p := &s.Rows[i]
		together := p.Job.Kind != "" && p.Job == t.row.Job || p.Parent > 1 && p.Parent == t.row.Parent
		if together && p.ID.Process != id.Process && p.ID.GPUUUID != id.GPUUUID && p.User == t.row.User {
			t.ranks = true
		}
	}
	t.device = s.DeviceUUID(id)
	return t
}

// level is the one that is chosen.
func (d flushDialog) level() flush.Level { return flushLevels()[d.chosen] }

// refusal says why a target cannot be flushed, "" where it can.
func (d flushDialog) refusal(t *flushTarget) string {
	if t.ended {
		return "it has ended"
	}
	return text.Clean(flushRefusal(&t.row, d.viewer))
}

// flushRefusal is why F only says why not.
func flushRefusal(p *snapshot.Process, viewer string) string {
	return cmp.Or(p.FlushRefusal(viewer), p.NothingToFlush())
}

// returns is what the chosen level gives back of a target, at least.
func (d flushDialog) returns(t *flushTarget) quantity.Bytes {
	if d.level() == flush.Urgent {
		return t.all
	}
	return cell.ReturnableOf(&t.row)
}

// sums is what all of them would give back at the gentlest level, and whether
// there is anything to evict.
func (d flushDialog) sums() (returns quantity.Bytes, evictable bool) {
	for i := range d.targets {
		if d.refusal(&d.targets[i]) == "" {
			returns += cell.ReturnableOf(&d.targets[i].row)
			evictable = evictable || len(d.targets[i].row.Evictable) > 0
		}
	}
	return returns, evictable
}

// willing counts the targets that can be flushed.
func (d flushDialog) willing() int {
	n := 0
	for i := range d.targets {
		if d.refusal(&d.targets[i]) == "" {
			n++
		}
	}
	return n
}

// requests are what y asks for. An urgent flush is of the whole process, however
// many rows it has.
func (d flushDialog) requests(dryRun bool) []flush.Request {
	var requests []flush.Request
	for i := range d.targets {
		t := &d.targets[i]
		if d.refusal(t) != "" {
			continue
		}
		request := flush.Request{Process: t.row.ID.Process, Level: d.level(), DryRun: dryRun, Origin: action.Key("F")}
		if d.level() != flush.Urgent {
			request.Devices = []string{t.device}
		} else if slices.ContainsFunc(requests, func(r flush.Request) bool { return r.Process == request.Process }) {
			continue
		}
		requests = append(requests, request)
	}
	return requests
}

// refreshed implements overlay.
func (d flushDialog) refreshed(now *scene) overlay { return d.follow(now) }

// wants implements overlay.
func (d flushDialog) wants(width int) (extent, int) { return overTable, d.dialog(width).height() }

// Render implements panel.
func (d flushDialog) Render(width, height int) []string { return d.dialog(width).Render(width, height) }

// hints implements asking.
func (d flushDialog) hints() []keys.Hint { return d.dialog(dialogWidth).hints() }

// press implements overlay.
func (d flushDialog) press(name string, _, height int) (overlay, outcome) {
	switch {
	case refuses(name):
		return d, closed
	case d.willing() == 0 || height < minDialogLines || d.running:
		return d, handled
	case name == "y":
		return d, confirmed
	case name == "d":
		d.running = true
		return d, rehearsed
	}
	d.chosen = d.dialog(dialogWidth).choose(name)
	return d, handled
}

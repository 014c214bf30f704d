package dialog

import (
	"cmp"
	"slices"
	"strings"

	"vramscope/action"
	"vramscope/action/flush"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// Flush asks before cached memory is freed. It shows memory now and after the flush and, for one process, the cost.
type Flush struct {
	look    *cell.Appearance
	history snapshot.History
	now     cell.Moment
	viewer  string
	targets []flushTarget
	level   flush.Level // the chosen level; "" if none can be chosen
	running bool        // a dry run is under way
	server  choice      // what the process's server can be asked to do; its name is empty if there is no server
	notes   []string    // notes of the server
}

// flushTarget is a row whose cached memory is to be freed.
type flushTarget struct {
	row    snapshot.Process // as last seen
	device string           // UUID of the row's GPU or MIG instance
	ended  bool
	gpus   int            // number of GPUs of its process
	all    quantity.Bytes // returnable on all GPUs of its process
	ranks  bool           // its job or launcher has processes on other GPUs
}

// NewFlush asks about rows. It begins with the gentlest level that frees something.
func NewFlush(lk *cell.Appearance, now *Screen, ids []snapshot.RowID) Flush {
	d := Flush{look: lk, targets: make([]flushTarget, len(ids))}
	for i, id := range ids {
		d.targets[i] = flushTarget{row: snapshot.Process{ID: id}, ended: true}
		if g := now.Shown.EndedRow(id); g != nil {
			d.targets[i].row = g.Last
		}
	}
	d = d.following(now)
	if d.Willing() > 0 {
		d.level = d.gentlest()
	}
	return d
}

func (d Flush) following(now *Screen) Flush {
	d.history = now.History
	if now.Live == nil {
		return d
	}
	d.now, d.viewer = cell.Moment(now.Now), now.Live.Host.User
	targets := make([]flushTarget, len(d.targets))
	for i := range d.targets {
		targets[i] = d.targets[i].follow(now.Live)
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
		t.all += p.Frees()
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

// Level returns the chosen level, "" if it is no longer offered: y never means another level.
func (d Flush) Level() flush.Level {
	if slices.ContainsFunc(d.choices(), d.isChosen) {
		return d.level
	}
	return ""
}

func (d Flush) isChosen(c choice) bool { return c.name == string(d.level) }

// Fill adds to the question what the process's server would do, or why it would not.
func (d Flush) Fill(would flush.Result, err error) Flush {
	if len(d.targets) > 1 {
		return d // the server was asked about a single process
	}
	d.notes, d.server = would.Notes, choice{"z", string(would.Level), strings.TrimPrefix(would.Sentence(""), "dry run: ")}
	if err != nil {
		d.server = choice{"z", string(flush.Sleep), "no: " + text.Clean(action.Reason(err))}
	} else if would.Level == flush.Wake {
		d.server.key = "w"
	}
	if d.level == "" {
		d.level = flush.Level(d.server.name)
	}
	return d
}

// refusal returns why a target cannot be flushed, "" if it can.
func (d Flush) refusal(t *flushTarget) string {
	if t.ended {
		return "it has ended"
	}
	return text.Clean(FlushRefusal(&t.row, d.viewer))
}

// FlushRefusal returns why a process cannot be flushed, "" if it can.
func FlushRefusal(p *snapshot.Process, viewer string) string {
	return cmp.Or(p.FlushRefusal(viewer), p.NothingToFlush())
}

// frees returns how much the chosen level frees of a target at least.
func (d Flush) frees(t *flushTarget) quantity.Bytes {
	if d.Level() == flush.Urgent {
		return t.all
	}
	return t.row.Frees()
}

// unknown reports whether a flush may free an unknown amount.
func (t *flushTarget) unknown() bool {
	return t.row.Frees() <= 0 && t.row.ReturnableBound().Unlimited()
}

// gentlest returns the gentlest level that frees something, or may free something.
func (d Flush) gentlest() flush.Level {
	level := flush.Urgent
	for i := range d.targets {
		t := &d.targets[i]
		switch {
		case d.refusal(t) != "":
		case t.row.Frees() > 0 || t.unknown():
			return flush.Gradual
		case len(t.row.Evictable) > 0:
			level = flush.Selective
		}
	}
	return level
}

// Willing returns the number of targets that can be flushed, 1 if only the server can be asked.
func (d Flush) Willing() int {
	n := 0
	for i := range d.targets {
		if d.refusal(&d.targets[i]) == "" {
			n++
		}
	}
	if n == 0 && d.server.name != "" && !d.targets[0].ended {
		return 1
	}
	return n
}

// Only returns the first target: its process, whether that has ended, and why it cannot be flushed.
func (d Flush) Only() (p *snapshot.Process, ended bool, refusal string) {
	t := &d.targets[0]
	return &t.row, t.ended, d.refusal(t)
}

// InSteps reports whether the chosen flush can be stopped between steps.
func (d Flush) InSteps() bool {
	return d.Level() == flush.Gradual && slices.ContainsFunc(d.targets, func(t flushTarget) bool { return t.row.FlushesInParts() })
}

// DryRunDone returns the question after its dry run: the question takes keys again.
func (d Flush) DryRunDone() Flush {
	d.running = false
	return d
}

// Requests returns the requests of y or d: one for the server, or one for each row that can be flushed. An urgent flush
// is of whole processes, so each process has one.
func (d Flush) Requests(dryRun bool) []flush.Request {
	var requests []flush.Request
	if flush.OfServer(d.Level()) {
		return append(requests, flush.Request{Process: d.targets[0].row.ID.Process, Level: d.Level(), DryRun: dryRun, Origin: action.Key("F")})
	}
	for i := range d.targets {
		t := &d.targets[i]
		if d.refusal(t) != "" {
			continue
		}
		request := flush.Request{Process: t.row.ID.Process, Level: d.Level(), DryRun: dryRun, Origin: action.Key("F")}
		if d.Level() != flush.Urgent {
			request.Devices = []string{t.device}
		} else if slices.ContainsFunc(requests, func(r flush.Request) bool { return r.Process == request.Process }) {
			continue
		}
		requests = append(requests, request)
	}
	return requests
}

func (d Flush) Follow(now *Screen) Overlay { return d.following(now) }

func (d Flush) Size(width int) int { return d.form(width).height() }

func (d Flush) Render(width, height int) []string { return d.form(width).Render(width, height) }

func (d Flush) Hints() []keys.Hint { return d.form(dialogWidth).hints() }

func (d Flush) Press(name string, _, height int) (Overlay, Outcome) {
	switch {
	case refuses(name):
		return d, Closed
	case d.Willing() == 0 || height < MinLines || d.running, d.Level() == "" && (name == "y" || name == "d"):
		return d, Handled
	case name == "y":
		return d, Confirmed
	case name == "d":
		d.running = true
		return d, Rehearsed
	}
	if f := d.form(dialogWidth); f.choose(name) >= 0 {
		d.level = flush.Level(f.choices[f.choose(name)].name)
	}
	return d, Handled
}

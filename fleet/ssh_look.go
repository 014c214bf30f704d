package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

func (s *SSH) Look(_ context.Context, q Query) (*Picture, error) {
	now := s.now()
	pic := &Picture{Time: now, Unit: q.Unit}
	gpus, down := 0, 0
	for _, b := range s.boxes {
		if _, snap := b.line(now); snap != nil {
			gpus += len(snap.GPUs)
		} else {
			gpus++
		}
	}
	if pic.Unit == Fitting {
		if pic.Unit = GPUs; gpus > q.Fit {
			pic.Unit = Boxes
		}
	}
	if q.Unit.OfProcesses() {
		pic.Lines = s.shares(q)
	}
	for _, b := range s.boxes {
		l, snap := b.line(now)
		if snap == nil {
			if !q.Filter.matches(l.Name(), nil) {
				continue
			}
			if l.State == Down {
				down++
			}
			if !q.Unit.OfProcesses() && q.Filter.state(&l) {
				pic.Lines = append(pic.Lines, l)
			}
			continue
		}
		pic.Simulated = pic.Simulated || snap.Simulated
		if skew := b.clock(); skew > mostSkew || skew < -mostSkew {
			pic.Problems = append(pic.Problems, fmt.Sprintf("the clock of %s differs by %s", l.Name(), quantity.BriefDuration(max(skew, -skew).Round(time.Second))))
		}
		if q.Unit.OfProcesses() || !q.Filter.matches(l.Name(), snap.Rows) {
			continue
		}
		all := linesOf(l, snap)
		if pic.Unit == Boxes {
			all = []Line{boxLine(l, all)}
		}
		for i := range all {
			if q.Filter.state(&all[i]) && (pic.Unit == Boxes || passes(q.Filter, l.Name(), all[i].GPU.UUID, snap)) {
				pic.Lines = append(pic.Lines, all[i])
			}
		}
	}
	pic.Down = quantity.From(down, quantity.Computed)
	Order(pic.Lines, q.Sort)
	pic.Lines = pic.Lines[:min(len(pic.Lines), max(q.Lines, 0))]
	return pic, nil
}

func (b *sshBox) clock() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.skew
}

// passes reports whether the filter lets a GPU of a box through.
func passes(f Filter, box, uuid string, snap *snapshot.Snapshot) bool {
	return f.matches(box, slices.DeleteFunc(slices.Clone(snap.Rows), func(p snapshot.Process) bool { return p.ID.GPUUUID != uuid }))
}

func linesOf(box Line, snap *snapshot.Snapshot) []Line {
	var all []Line
	for i := range snap.GPUs {
		l := box
		l.GPU, l.GPUs = snap.GPUs[i], 1
		l.Idle = idleGPU(&l.GPU)
		for j := range snap.Alerts {
			if a := &snap.Alerts[j]; a.GPUUUID == l.GPU.UUID {
				l.worse(a.Kind, a.Severity)
			}
		}
		var owner *snapshot.Process
		for row := range snap.GPURows(l.GPU.UUID) {
			if owner == nil || row.Used.Or(0) > owner.Used.Or(0) {
				owner = row
			}
		}
		if owner != nil {
			l.User, l.Program, l.Job = owner.User, owner.ProgramName(), owner.Job.ID
		}
		all = append(all, l)
	}
	return all
}

// worse sets the line's alert if the given one is worse.
func (l *Line) worse(kind snapshot.AlertKind, severity snapshot.Severity) {
	if l.Alert == "" || alertRank(kind) < alertRank(l.Alert) || kind == l.Alert && severity > l.Severity {
		l.Alert, l.Severity = kind, severity
	}
}

func boxLine(box Line, gpus []Line) Line {
	box.GPUs = len(gpus)
	busy, known := 0, 0
	for i := range gpus {
		if n, ok := gpus[i].Idle.Value(); ok {
			box.Idle = quantity.From(box.Idle.Or(0)+n, quantity.Computed)
		}
		if gpus[i].GPU.Memory.Used.Known() { // otherwise the GPU would add only to the total
			sum(&box.GPU, &gpus[i].GPU)
		}
		if u, ok := gpus[i].GPU.Utilization.Value(); ok {
			busy, known = busy+u, known+1
		}
		if gpus[i].Alert != "" {
			box.worse(gpus[i].Alert, gpus[i].Severity)
		}
	}
	if known > 0 {
		box.GPU.Utilization = quantity.From(busy/known, quantity.Computed)
	}
	return box
}

func (s *SSH) Totals(_ context.Context, q Query) (Totals, error) {
	now := s.now()
	var (
		all, own           snapshot.GPU
		boxes, down, count int
	)
	for _, b := range s.boxes {
		l, snap := b.line(now)
		var rows []snapshot.Process
		if snap != nil {
			rows = snap.Rows
		}
		if !q.Filter.matches(l.Name(), rows) {
			continue
		}
		boxes++
		if l.State == Down {
			down++
		}
		if snap == nil {
			continue
		}
		for i := range snap.Rows {
			row := &snap.Rows[i]
			if q.Filter.ofPeople() && q.Filter.matches(l.Name(), snap.Rows[i:i+1]) {
				sum(&own, &snapshot.GPU{Memory: snapshot.Memory{Used: row.Used}, Parts: partsOf(row.Used, row.Allocated, row.Cached, row.Fragmented, row.Returnable)})
			}
		}
		for i := range snap.GPUs {
			if snap.GPUs[i].Memory.Used.Known() && passes(q.Filter, l.Name(), snap.GPUs[i].UUID, snap) { // otherwise the GPU would add only to the total
				count++
				sum(&all, &snap.GPUs[i])
			}
		}
	}
	known := func(n int) snapshot.Int { return quantity.From(n, quantity.Computed) }
	if q.Filter.ofPeople() {
		all.Memory.Used, all.Parts = own.Memory.Used, own.Parts
	}
	return Totals{Own: q.Filter.ofPeople(), GPUs: known(count), Boxes: known(boxes), Down: known(down), Memory: all.Memory, Parts: all.Parts}, nil
}

var errNoPast = errors.New("over ssh there is no past")

func (s *SSH) Box(_ context.Context, box string, at time.Time) (*snapshot.Snapshot, error) {
	if !at.IsZero() {
		return nil, errNoPast
	}
	for _, b := range s.boxes {
		if b.host != box {
			continue
		}
		l, snap := b.line(s.now())
		if snap == nil {
			return nil, errors.New(text.Clean(l.Why))
		}
		own := *snap // the caller sets the sequence number
		return &own, nil
	}
	return nil, fmt.Errorf("%s is not among the boxes", text.Clean(box))
}

// Past implements Source: over ssh there is no past.
func (s *SSH) Past(context.Context, string, time.Time, time.Time) (Past, error) { return nil, nil }

// Settle waits until every box has answered or failed once, or the context ends.
func (s *SSH) Settle(ctx context.Context) {
	for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		waiting := slices.ContainsFunc(s.boxes, func(b *sshBox) bool { l, _ := b.line(s.now()); return l.State == Asking })
		if !waiting {
			return
		}
	}
}

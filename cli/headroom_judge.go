package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// headroomQuestion is what is asked.
type headroomQuestion struct {
	need   quantity.Bytes
	count  int           // of places that must have it
	length time.Duration // for how long; 0: now
	watch  time.Duration // before that
}

// fit is the answer for a place, or for all of them.
type fit string

const (
	fits       fit = "yes"
	fitsAfter  fit = "after_flush"
	fitsNot    fit = "no"
	fitUnknown fit = "unknown"
)

// headroomReport is the answer.
type headroomReport struct {
	question headroomQuestion
	snap     *snapshot.Snapshot
	places   []headroomPlace // in the order of their GPUs
	answer   fit
}

// headroomPlace is where a job can run: a GPU, or a MIG instance.
type headroomPlace struct {
	label    string // "3", "5:1"
	uuid     string
	gpu      *snapshot.GPU
	instance *snapshot.Instance // nil: the whole GPU

	free       snapshot.Bytes
	returnable snapshot.Bytes // by flushes that can be asked for, now
	staying    snapshot.Bytes // of it what would be there for as long as is asked
	exact      bool           // returnable is what comes back, and not only the most that can
	flushable  []flushable    // those with most first
	low        *lowPoint      // nil where nothing is predicted
	fullIn     *snapshot.FullIn

	verdict fit
	short   quantity.Bytes // what is missing where it does not fit as it is
	reason  string         // why nothing is known
}

// flushable is a process that would give memory back if it were asked.
type flushable struct {
	process        *snapshot.Process
	returns, stays quantity.Bytes // stays: what would not be taken again within the time that is asked for
}

// lowPoint is the least that will be free within the time that is asked for,
// with its 80 % interval. Below zero it is what will be wanted and not be there:
// that much a flush has to give before it gives anything to a job.
type lowPoint struct{ median, lower, upper quantity.Bytes }

// judgeHeadroom looks at every place that a job could run on.
func judgeHeadroom(snap *snapshot.Snapshot, history snapshot.History, q headroomQuestion) headroomReport {
	r := headroomReport{question: q, snap: snap}
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		if len(g.Instances) == 0 {
			place := headroomPlace{label: strconv.Itoa(g.Index), uuid: g.UUID, gpu: g, fullIn: g.FullIn}
			place.judge(snap, history, q, &g.Memory, g.Predicted)
			r.places = append(r.places, place)
		}
		for j := range g.Instances {
			in := &g.Instances[j]
			place := headroomPlace{label: instanceName(g.Index, j+1), uuid: in.UUID, gpu: g, instance: in, fullIn: in.FullIn}
			place.judge(snap, history, q, &in.Memory, in.Predicted)
			r.places = append(r.places, place)
		}
	}
	r.answer = r.conclude()
	return r
}

// conclude is the answer for all places: enough of them have to fit.
func (r *headroomReport) conclude() fit {
	now, after, not := len(r.on(fits)), len(r.on(fitsAfter)), len(r.on(fitsNot))
	switch {
	case now >= r.question.count:
		return fits
	case now+after >= r.question.count:
		return fitsAfter
	case now+after+not > 0:
		return fitsNot
	default:
		return fitUnknown
	}
}

// on lists the places with a verdict.
func (r *headroomReport) on(v fit) (labels []string) {
	for i := range r.places {
		if r.places[i].verdict == v {
			labels = append(labels, r.places[i].label)
		}
	}
	return labels
}

func (h *headroomPlace) judge(snap *snapshot.Snapshot, history snapshot.History, q headroomQuestion, m *snapshot.Memory, predicted []snapshot.Prediction) {
	h.free = freeOf(m)
	h.findReturnable(snap, history, q)
	free, known := h.free.Value()
	switch {
	case h.gpu.State != snapshot.GPUOK:
		h.verdict, h.reason = fitUnknown, (&table{snap: snap}).unwell(h.gpu)
		return
	case h.gpu.MIG && h.instance == nil:
		h.verdict, h.short, h.reason = fitsNot, q.need, "it is cut for MIG, and has no instance"
		h.free = snapshot.Bytes{} // nobody can have any of it
		return
	case !known:
		h.verdict, h.reason = fitUnknown, "the driver does not tell what is free"
		return
	}
	room := free
	if q.length > 0 {
		used, _ := m.Used.Value()
		if h.low = lowest(free, used, predicted, q.length); h.low == nil {
			h.verdict, h.reason = fitUnknown, "not predicted: too few samples of it"
			return
		}
		room = h.low.lower
	}
	h.short = max(q.need-room, 0)
	switch {
	case h.short == 0:
		h.verdict = fits
	case room+h.staying.Or(0) >= q.need:
		h.verdict = fitsAfter
	default:
		h.verdict = fitsNot
	}
}

// freeOf is what processes can still get.
func freeOf(m *snapshot.Memory) snapshot.Bytes {
	if m.Free.Known() {
		return m.Free
	}
	used, told := m.Used.Value()
	capacity, limited := m.Capacity().Value()
	if !told || !limited {
		return snapshot.Bytes{}
	}
	return quantity.From(max(capacity-used, 0), quantity.Computed)
}

// lowest is the least that is free on the way to length, which runs straight
// from now to the first horizon and from each to the next. The interval's ends
// are those of the forecasts on that way. Nil: nothing is predicted so far.
func lowest(free, used quantity.Bytes, predicted []snapshot.Prediction, length time.Duration) *lowPoint {
	median, lower, upper := used, used, used // the highest on the way
	before := snapshot.Prediction{Median: used, Lower80: used, Upper80: used}
	for _, p := range predicted {
		if p.Horizon > length {
			p = between(before, p, length)
		}
		median, lower, upper = max(median, p.Median), max(lower, p.Lower80), max(upper, p.Upper80)
		if p.Horizon == length {
			left := func(highest quantity.Bytes) quantity.Bytes { return free - (highest - used) }
			return &lowPoint{median: left(median), lower: left(upper), upper: left(lower)}
		}
		before = p
	}
	return nil
}

// between is the forecast at a time between two others.
func between(a, b snapshot.Prediction, at time.Duration) snapshot.Prediction {
	share := float64(at-a.Horizon) / float64(b.Horizon-a.Horizon)
	mix := func(a, b quantity.Bytes) quantity.Bytes { return a + quantity.Bytes(share*float64(b-a)) }
	return snapshot.Prediction{
		Horizon: at, Median: mix(a.Median, b.Median), Lower80: mix(a.Lower80, b.Lower80), Upper80: mix(a.Upper80, b.Upper80),
	}
}

// findReturnable adds up what the place's processes would give back if they
// were asked: by root, or each by its own user.
func (h *headroomPlace) findReturnable(snap *snapshot.Snapshot, history snapshot.History, q headroomQuestion) {
	h.exact = true
	var all, staying quantity.Bytes
	probed := false
	for i := range snap.Rows {
		p := &snap.Rows[i]
		if p.ID.GPUUUID != h.gpu.UUID || h.instance != nil && p.ID.Instance != h.instance.ID || p.Probe == nil {
			continue
		}
		probed = true
		returns, ok := p.Returnable.Value()
		if !ok || returns <= 0 || p.Probe.Mismatch || p.FlushRefusal("root") != "" {
			continue
		}
		h.exact = h.exact && p.ReturnableIsExact()
		stays := lasting(snap, history, p, returns, q.length)
		h.flushable = append(h.flushable, flushable{p, returns, stays})
		all += returns
		staying += stays
	}
	slices.SortStableFunc(h.flushable, func(a, b flushable) int { return cmp.Compare(b.stays, a.stays) })
	if probed {
		h.returnable = quantity.From(all, quantity.Computed)
		h.staying = quantity.From(staying, quantity.Computed)
	}
}

// lasting is how much of what a flush returns stays away for a while: a process
// that has needed more than it has now, as far as was watched, takes the
// difference again.
func lasting(snap *snapshot.Snapshot, history snapshot.History, p *snapshot.Process, returns quantity.Bytes, length time.Duration) quantity.Bytes {
	allocated, known := p.Allocated.Value()
	if length == 0 || !known {
		return returns
	}
	oldest, _ := history.Span()
	key := snapshot.SeriesKey{Metric: snapshot.MetricAllocated, GPUUUID: p.ID.GPUUUID, Instance: p.ID.Instance, Row: p.ID}
	peak := allocated
	for _, point := range history.Series(key, oldest.Add(-time.Second), snap.Time, 1) {
		if point.Known {
			peak = max(peak, quantity.Bytes(point.Max))
		}
	}
	return min(max(p.Cached.Or(returns)-(peak-allocated), 0), returns)
}

// why is what there is to say beside the figures, one line.
func (h *headroomPlace) why() string {
	switch {
	case h.reason != "":
		return h.reason
	case h.verdict == fits:
		return ""
	case h.verdict == fitsAfter:
		return "flush " + h.flushList()
	}
	text := h.short.String() + " short"
	if len(h.flushable) > 0 {
		text += ", also after a flush of " + h.flushList()
	}
	return text
}

// flushList names whom to flush, those with most first: as many as it takes, or
// all of them where they do not suffice.
func (h *headroomPlace) flushList() string {
	const most = 3
	s := ""
	missing := h.short
	for i := range h.flushable {
		f := &h.flushable[i]
		if i == most {
			return s + fmt.Sprintf(" and %d more", len(h.flushable)-i)
		}
		if i > 0 {
			s += ", "
		}
		upTo := ""
		if !f.process.ReturnableIsExact() {
			upTo = "up to "
		}
		s += fmt.Sprintf("%d (%s, %s%s)", f.process.ID.Process.PID, cmp.Or(text.Clean(f.process.User), "?"), upTo, f.returns)
		if missing -= f.stays; missing <= 0 {
			return s
		}
	}
	return s
}

package headroom

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// Question asks whether a job fits.
type Question struct {
	Need    quantity.Bytes
	Count   int           // how many places the job must fit on
	Length  time.Duration // for how long the job must fit; 0 means only now
	Watched time.Duration // for how long the box was watched before
}

// ParseNeed parses "20G", and "2x40G" for 40G on each of two GPUs.
func ParseNeed(s string) (q Question, ok bool) {
	q.Count = 1
	size := strings.TrimSpace(s)
	if count, each, found := strings.Cut(strings.ToLower(size), "x"); found {
		var err error
		if q.Count, err = strconv.Atoi(strings.TrimSpace(count)); err != nil || q.Count < 1 {
			return q, false
		}
		size = strings.TrimSpace(each)
	}
	var err error
	q.Need, err = quantity.ParseBytes(size)
	return q, err == nil && q.Need >= quantity.MiB // "20" is no size: 20 bytes always fit
}

// Verdict is the answer for one place or all.
type Verdict string

const (
	Yes        Verdict = "yes"
	AfterFlush Verdict = "after_flush"
	No         Verdict = "no"
	Unknown    Verdict = "unknown"
)

// Report is the answer to a Question.
type Report struct {
	Question Question
	Snapshot *snapshot.Snapshot
	Places   []Place // by GPU and instance
	Answer   Verdict
}

// Place is a GPU or MIG instance, with the answer for it.
type Place struct {
	GPU      *snapshot.GPU
	Instance *snapshot.Instance // nil: the whole GPU
	Label    string             // "3", "5:1"

	Free       snapshot.Bytes
	Returnable snapshot.Bytes // the memory that flushes would free now
	Staying    snapshot.Bytes // the part of Returnable that stays free for the question's Length
	Exact      bool           // Returnable is exact, not a bound or an estimate
	Flushable  []Flushable    // the largest Stays first
	Low        *LowPoint      // nil if nothing is predicted, or the question's Length is 0

	Verdict Verdict
	Short   quantity.Bytes // the memory that is missing without a flush
	Reason  string         // why there is no better verdict; "" if the figures or the GPU's state show it
}

// UUID returns the UUID of the MIG instance, or of the GPU.
func (p *Place) UUID() string {
	if p.Instance != nil {
		return p.Instance.UUID
	}
	return p.GPU.UUID
}

// FullIn returns when the place will be full, nil if that is not expected.
func (p *Place) FullIn() *snapshot.FullIn {
	if p.Instance != nil {
		return p.Instance.FullIn
	}
	return p.GPU.FullIn
}

// Judge answers a question for each GPU or, where a GPU is divided, for each of its MIG instances.
func Judge(snap *snapshot.Snapshot, history snapshot.History, q Question) Report {
	r := Report{Question: q, Snapshot: snap}
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		if len(g.Instances) == 0 {
			p := Place{GPU: g, Label: strconv.Itoa(g.Index)}
			p.judge(snap, history, q, &g.Memory, &g.Outlook)
			r.Places = append(r.Places, p)
		}
		for j := range g.Instances {
			in := &g.Instances[j]
			p := Place{GPU: g, Instance: in, Label: fmt.Sprintf("%d:%d", g.Index, j+1)}
			p.judge(snap, history, q, &in.Memory, &in.Outlook)
			r.Places = append(r.Places, p)
		}
	}
	r.Answer = r.conclude()
	return r
}

// conclude returns the answer for all places: the job must fit on Count of them.
func (r *Report) conclude() Verdict {
	now, after, not := len(r.On(Yes)), len(r.On(AfterFlush)), len(r.On(No))
	switch {
	case now >= r.Question.Count:
		return Yes
	case now+after >= r.Question.Count:
		return AfterFlush
	case now+after+not > 0:
		return No
	default:
		return Unknown
	}
}

// On returns the labels of the places with a verdict.
func (r *Report) On(v Verdict) (labels []string) {
	for i := range r.Places {
		if r.Places[i].Verdict == v {
			labels = append(labels, r.Places[i].Label)
		}
	}
	return labels
}

func (p *Place) judge(snap *snapshot.Snapshot, history snapshot.History, q Question, m *snapshot.Memory, o *snapshot.Outlook) {
	p.Free = snapshot.FreeOf(m)
	p.findReturnable(snap, history, q)
	free, known := p.Free.Value()
	switch {
	case p.GPU.State != snapshot.GPUOK:
		p.Verdict = Unknown
		return
	case p.GPU.MIG && p.Instance == nil:
		p.Verdict, p.Short, p.Reason = No, q.Need, "it is cut for MIG, and has no instance"
		p.Free = snapshot.Bytes{} // no process can use the free memory
		return
	case !known:
		p.Verdict, p.Reason = Unknown, "the driver does not report what is free"
		return
	}
	room := free
	if q.Length > 0 {
		used, _ := m.Used.Value()
		if p.Low = lowest(free, used, o.Predicted, q.Length); p.Low == nil {
			p.Verdict, p.Reason = Unknown, "not predicted: "+cmp.Or(o.Doubt.Words(), "too few samples of it")
			return
		}
		room = p.Low.Lower
	}
	p.Short = max(q.Need-room, 0)
	switch {
	case p.Short == 0:
		p.Verdict = Yes
	case room+p.Staying.Or(0) >= q.Need:
		p.Verdict = AfterFlush
	default:
		p.Verdict = No
	}
}

// LowPoint is the forecast of the least free memory within the question's Length, with its 80 % interval.
// A negative value is demand beyond the capacity, which a flush must free first.
type LowPoint struct{ Median, Lower, Upper quantity.Bytes }

// Shown returns the low point as free memory, which is never negative.
func (l LowPoint) Shown() LowPoint {
	return LowPoint{max(l.Median, 0), max(l.Lower, 0), max(l.Upper, 0)}
}

// lowest returns the low point until length, by linear interpolation between now and the horizons. It
// returns nil if no forecast reaches that far.
func lowest(free, used quantity.Bytes, predicted []snapshot.Prediction, length time.Duration) *LowPoint {
	median, lower, upper := used, used, used // the highest use on the way
	before := snapshot.Prediction{Median: used, Lower80: used, Upper80: used}
	for _, p := range predicted {
		if p.Horizon > length {
			p = between(before, p, length)
		}
		median, lower, upper = max(median, p.Median), max(lower, p.Lower80), max(upper, p.Upper80)
		if p.Horizon == length {
			left := func(highest quantity.Bytes) quantity.Bytes { return free - (highest - used) }
			return &LowPoint{Median: left(median), Lower: left(upper), Upper: left(lower)}
		}
		before = p
	}
	return nil
}

func between(a, b snapshot.Prediction, at time.Duration) snapshot.Prediction {
	share := float64(at-a.Horizon) / float64(b.Horizon-a.Horizon)
	mix := func(a, b quantity.Bytes) quantity.Bytes { return a + quantity.Bytes(share*float64(b-a)) }
	return snapshot.Prediction{
		Horizon: at, Median: mix(a.Median, b.Median), Lower80: mix(a.Lower80, b.Lower80), Upper80: mix(a.Upper80, b.Upper80),
	}
}

// Sentence returns the answer in a line: "yes: 20.0G for 10m fits on GPU 0, 6".
func (r *Report) Sentence() string {
	what := r.Question.Need.String()
	if r.Question.Count > 1 {
		what = fmt.Sprintf("%d times %s", r.Question.Count, what)
	}
	if r.Question.Length > 0 {
		what += " for " + quantity.BriefDuration(r.Question.Length)
	}
	list := func(v Verdict) string { return "GPU " + strings.Join(r.On(v), ", ") }
	now, after := r.On(Yes), r.On(AfterFlush)
	switch {
	case r.Answer == Yes:
		return "yes: " + what + " fits on " + list(Yes)
	case r.Answer == AfterFlush && len(now) == 0:
		return "after a flush: " + what + " fits on " + list(AfterFlush)
	case r.Answer == AfterFlush:
		return "after a flush: " + what + " fits on " + list(Yes) + ", and then on " + list(AfterFlush)
	case r.Answer == Unknown:
		return "unknown: no GPU could be judged"
	case len(now) > 0 && len(after) > 0:
		return fmt.Sprintf("no: need %d, fits on %s; after a flush also on %s", r.Question.Count, strings.Join(now, ","), strings.Join(after, ","))
	case len(now) > 0:
		return fmt.Sprintf("no: need %d, fits on %s", r.Question.Count, strings.Join(now, ","))
	case len(after) > 0:
		return fmt.Sprintf("no: need %d, fits after a flush on %s", r.Question.Count, strings.Join(after, ","))
	default:
		return "no: " + what + " fits nowhere"
	}
}

// Why returns the reason of the verdict, "" if the job fits.
func (p *Place) Why() string {
	switch {
	case p.GPU.State != snapshot.GPUOK:
		return text.Clean(p.GPU.StateSince())
	case p.Reason != "":
		return p.Reason
	case p.Verdict == Yes:
		return ""
	case p.Verdict == AfterFlush:
		return "flush " + p.flushes()
	}
	s := p.Short.String() + " short"
	if len(p.Flushable) > 0 {
		s += ", also after a flush of " + p.flushes()
	}
	return s
}

// flushes names the processes to flush, in the order of Flushable: as many as are needed, at most maxNamed.
func (p *Place) flushes() string {
	const maxNamed = 3
	s := ""
	missing := p.Short
	for i := range p.Flushable {
		f := &p.Flushable[i]
		if i == maxNamed {
			return s + fmt.Sprintf(" and %d more", len(p.Flushable)-i)
		}
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprintf("%d (%s, %s", f.Process.ID.Process.PID, cmp.Or(text.Clean(f.Process.User), "?"), f.Process.ReturnableBound().Amount(f.Frees))
		if claimed := f.Claimed.Or(0); claimed > 0 {
			s += ", and by its word " + claimed.String() + " with --level selective"
		}
		s += ")"
		if missing -= f.Stays; missing <= 0 {
			return s
		}
	}
	return s
}

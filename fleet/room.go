package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// RoomQuery asks for boxes on which a job has room: Need on each of Count GPUs of one box.
type RoomQuery struct {
	Need   quantity.Bytes
	Count  int
	Filter Filter
	Boxes  int // the most boxes to name
	// Length is how long the memory is needed; 0 means only now. The forecasts at all Horizons, which are
	// those up to Length, must leave Need free.
	Length   time.Duration
	Horizons []time.Duration
}

// Room is the answer to a RoomQuery.
type Room struct {
	Time      time.Time
	Simulated bool
	Matched   int // GPUs that the filter lets through
	Judged    int // the part of Matched with known free memory
	// Now lists the boxes with room; AfterFlush those with room only if all their caches are flushed. Both
	// are sorted by GPUs, most first.
	Now, AfterFlush []RoomyBox
	// Nearest lists the boxes that lack the least memory, if no box has room. Largest is the highest
	// number of judged GPUs in a box; below Count, no box is near.
	Nearest  []RoomyBox
	Largest  int
	Problems []string
}

// maxNearest is the most boxes in Room.Nearest.
const maxNearest = 5

// RoomyBox is a box with room, or with nearly enough.
type RoomyBox struct {
	Box, Name string
	GPUs      int            // GPUs that have room; in Nearest perhaps only after a flush
	Short     quantity.Bytes // the memory that is missing on the fullest of the job's GPUs after a flush
}

// Unjudged returns why no GPU could be judged.
func (q *RoomQuery) Unjudged(r *Room) string {
	switch {
	case r.Matched > 0:
		if q.Length > 0 {
			return "no GPU could be judged: each is under MIG, or its free memory is unknown, or not predicted"
		}
		return "no GPU could be judged: each is under MIG, or its free memory is unknown"
	case len(q.Filter) > 0:
		return "no GPU matches --filter " + text.Clean(q.Filter.String())
	default:
		return "no box reports a GPU"
	}
}

// Room implements Source. It leaves out GPUs under MIG, whose instances have the memory.
func (p *Prometheus) Room(ctx context.Context, q RoomQuery) (Room, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	a, err := p.discover(ctx, Query{Filter: q.Filter})
	if err != nil {
		return Room{}, err
	}
	free := fmt.Sprintf("((%s) unless on (instance,uuid) %s)", a.wanted(free), exported(metric.MIGInfo))
	if q.Length > 0 {
		free = fmt.Sprintf("(%s - clamp_min(%s - (%s), 0))", free, a.predicted(q.Horizons), a.each(used, nil, byGPU))
	}
	flushed := free
	if s := a.each(returnable, nil, byGPU); s != "" {
		flushed = fmt.Sprintf("(%[1]s + (%[2]s) or %[1]s)", free, s)
	}
	fits := func(s string) string {
		return fmt.Sprintf("topk(%d, count by (instance) (%s >= %d) >= %d)", q.Boxes, s, int64(q.Need), q.Count)
	}
	answers, failed := p.askAll(ctx, map[field]string{"now": fits(free), "flushed": fits(flushed), count: "count(" + free + ")",
		"matched": "count(" + a.filtered(a.infos(func(*exporter) string { return a.within }), byGPU) + ")", "down": a.down()})
	for _, name := range []field{"now", count} {
		if failed[name] != nil {
			return Room{}, failed[name]
		}
	}
	r := Room{Time: p.engineTime(), Simulated: a.simulated, Problems: problemsOf(failed)}
	if n := len(answers["down"]); n > 0 {
		r.Problems = append(r.Problems, text.Plural(n, "box does", "boxes do")+" not answer")
	}
	for name, to := range map[field]*int{count: &r.Judged, "matched": &r.Matched} {
		if len(answers[name]) == 1 {
			*to = int(answers[name][0].value)
		}
	}
	for name, to := range map[field]*[]RoomyBox{"now": &r.Now, "flushed": &r.AfterFlush} {
		for _, s := range answers[name] {
			l := Line{Box: s.label("instance")}
			*to = append(*to, RoomyBox{l.Box, l.Name(), int(s.value), 0})
		}
	}
	r.finish()
	if r.Judged > 0 && len(r.Now)+len(r.AfterFlush) == 0 && failed["flushed"] == nil {
		answers, failed := p.askAll(ctx, q.nearest(flushed))
		r.Problems = append(r.Problems, problemsOf(failed)...)
		fit := map[string]int{}
		for _, s := range answers["fit"] {
			fit[s.label("instance")] = int(s.value)
		}
		for _, s := range answers["last"] {
			l := Line{Box: s.label("instance")}
			r.Nearest = append(r.Nearest, RoomyBox{l.Box, l.Name(), fit[l.Box], max(q.Need-quantity.Bytes(s.value), 0)})
		}
		for _, s := range answers["gpus"] {
			r.Largest = max(r.Largest, int(s.value))
		}
		r.finish()
	}
	return r, nil
}

// nearest returns queries for the boxes that lack the least. free is an expression for the memory that
// would be free on each GPU.
func (q *RoomQuery) nearest(free string) map[field]string {
	last := fmt.Sprintf("min by (instance) (topk by (instance) (%d, %s)) and on (instance) count by (instance) (%[2]s) >= %[1]d", q.Count, free)
	return map[field]string{
		"last": fmt.Sprintf("topk(%d, %s)", maxNearest, last),
		"fit":  fmt.Sprintf("count by (instance) (%s >= %d)", free, int64(q.Need)),
		"gpus": fmt.Sprintf("max(count by (instance) (%s))", free),
	}
}

// finish removes boxes that have room now from AfterFlush, and sorts all.
func (r *Room) finish() {
	r.AfterFlush = slices.DeleteFunc(r.AfterFlush, func(b RoomyBox) bool {
		return slices.ContainsFunc(r.Now, func(n RoomyBox) bool { return n.Box == b.Box })
	})
	for _, boxes := range [][]RoomyBox{r.Now, r.AfterFlush, r.Nearest} {
		sorted.Stable(boxes, func(a, b RoomyBox) int {
			return cmp.Or(cmp.Compare(a.Short, b.Short), cmp.Compare(b.GPUs, a.GPUs), cmp.Compare(a.Name, b.Name))
		})
	}
}

func (s *SSH) Room(_ context.Context, q RoomQuery) (Room, error) {
	now := s.now()
	r := Room{Time: now}
	var why string
	for _, b := range s.boxes {
		l, snap := b.line(now)
		if snap == nil {
			why = l.Name() + ": " + l.Why
			r.Problems = append(r.Problems, why)
			continue
		}
		r.Simulated = r.Simulated || snap.Simulated
		if !q.Filter.matches(l.Name(), snap.Rows) {
			continue
		}
		fits, flushed := 0, 0
		var left []quantity.Bytes // on each GPU, after a flush
		for i := range snap.GPUs {
			g := &snap.GPUs[i]
			if !passes(q.Filter, l.Name(), g.UUID, snap) {
				continue
			}
			r.Matched++
			free, known := g.Memory.Free.Value()
			if !known || g.MIG || len(g.Instances) > 0 || g.State != snapshot.GPUOK {
				continue
			}
			growth, predicted := q.growth(g)
			if !predicted {
				continue
			}
			free -= growth
			r.Judged++
			if free >= q.Need {
				fits++
			}
			free += g.Parts.Returnable.Or(0)
			if left = append(left, free); free >= q.Need {
				flushed++
			}
		}
		if fits >= q.Count {
			r.Now = append(r.Now, RoomyBox{l.Box, l.Name(), fits, 0})
		} else if flushed >= q.Count {
			r.AfterFlush = append(r.AfterFlush, RoomyBox{l.Box, l.Name(), flushed, 0})
		} else if r.Largest = max(r.Largest, len(left)); len(left) >= q.Count {
			slices.SortFunc(left, func(a, b quantity.Bytes) int { return cmp.Compare(b, a) })
			r.Nearest = append(r.Nearest, RoomyBox{l.Box, l.Name(), flushed, q.Need - left[q.Count-1]})
		}
	}
	if len(s.boxes) > 0 && len(r.Problems) == len(s.boxes) {
		return r, errors.New(why)
	}
	r.finish()
	if len(r.Now)+len(r.AfterFlush) > 0 {
		r.Nearest = nil
	}
	r.Now, r.AfterFlush, r.Nearest = r.Now[:min(len(r.Now), q.Boxes)], r.AfterFlush[:min(len(r.AfterFlush), q.Boxes)], r.Nearest[:min(len(r.Nearest), maxNearest)]
	return r, nil
}

// growth returns the highest predicted growth of a GPU's used memory, by the medians of its forecasts.
// known is false if the query needs a forecast and the GPU has none.
func (q *RoomQuery) growth(g *snapshot.GPU) (growth quantity.Bytes, known bool) {
	known = q.Length == 0
	for _, p := range g.Predicted {
		if slices.Contains(q.Horizons, p.Horizon) {
			growth, known = max(growth, p.Median-g.Memory.Used.Or(0)), true
		}
	}
	return growth, known
}

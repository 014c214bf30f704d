package recording

import (
	"math"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Running sums samples as a Writer does. The Writer writes a row a minute, and for a process one in
// five minutes: the newest are missing while it runs, and for good after it was killed.
type Running struct {
	last time.Time
	gpus map[gpuMinute]*gpuSums
	rows map[rowMinutes]*processSums

	divider divider
}

type gpuMinute struct {
	uuid string
	from int64
}

type rowMinutes struct {
	id   snapshot.RowID
	from int64
}

// Add adds the next moment.
func (r *Running) Add(snap *snapshot.Snapshot) {
	now, elapsed := snap.Time.UnixNano(), snap.Time.Sub(r.last)
	weight := min(elapsed, 2*max(snap.Interval, time.Second))
	if r.gpus == nil {
		r.gpus, r.rows, weight = make(map[gpuMinute]*gpuSums), make(map[rowMinutes]*processSums), 0
	}
	r.last = snap.Time
	rows := r.divider.divide(weight, elapsed, snap)
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		key := gpuMinute{g.UUID, beginOf(now, time.Minute)}
		if r.gpus[key] == nil {
			r.gpus[key] = new(gpuSums)
			r.gpus[key].begin(now)
		}
		r.gpus[key].add(now, weight, g, snap, r.divider.drawn[g.UUID])
	}
	for i := range rows {
		p := &rows[i]
		key := rowMinutes{p.ID, beginOf(now, 5*time.Minute)}
		if r.rows[key] == nil {
			r.rows[key] = new(processSums)
			r.rows[key].begin(now)
		}
		r.rows[key].add(now, weight, p, r.divider.rows[i])
	}
}

// GPUMinutes visits the minutes of each GPU.
func (r *Running) GPUMinutes(visit func(*GPUMinute)) {
	for key, s := range r.gpus {
		p := &s.parts // in the order of gpuParts
		visit(&GPUMinute{
			Time: moment(s.from), Subject: Subject{GPUUUID: key.uuid}, Covered: time.Duration(s.covered),
			Used: p[0].spread(s.covered), Free: p[1].spread(s.covered).Mean, Allocated: p[2].spread(s.covered).Mean, Cached: p[3].spread(s.covered).Mean,
			Fragmented: p[4].spread(s.covered).Mean, Other: p[5].spread(s.covered).Mean, Unknown: p[6].spread(s.covered).Mean, Utilization: p[7].percents(),
			Energy: rounded(s.energy, s.metered),
		})
	}
}

// Process5Min visits the five minutes of each row.
func (r *Running) Process5Min(visit func(*Process5Min)) {
	for key, s := range r.rows {
		p := &s.parts // in the order of processParts
		visit(&Process5Min{
			Time: moment(s.from), Subject: Subject{GPUUUID: key.id.GPUUUID, Process: &ProcessRow{Process: snapshot.Process{ID: key.id}}}, Covered: time.Duration(s.covered),
			Used: p[0].spread(s.covered), Allocated: p[1].spread(s.covered).Mean, Cached: p[2].spread(s.covered).Mean, Fragmented: p[3].spread(s.covered).Mean,
			Other: p[4].spread(s.covered).Mean, Utilization: p[5].percents(), AllocRetries: s.retries,
			Held: rounded(s.share.held, s.share.taken), Busy: rounded(s.share.busy, s.share.loaded), Idle: rounded(s.share.idle, s.share.loaded), Energy: rounded(s.share.energy, s.share.metered),
		})
	}
}

// spread is a figure over the time that its window covers.
func (s *sum) spread(covered int64) (out Sum) {
	if s.covered > 0 {
		computed := func(v int64) snapshot.Bytes { return quantity.From(quantity.Bytes(v), quantity.Computed) }
		out = Sum{computed(s.min), computed(int64(math.Round(s.area / float64(covered)))), computed(s.max)}
	}
	return out
}

func (s *sum) percents() (out Utilization) {
	if s.covered > 0 {
		out.Mean, out.Max = quantity.From(s.area/float64(s.covered), quantity.Computed), quantity.From(int(s.max), quantity.Computed)
	}
	return out
}

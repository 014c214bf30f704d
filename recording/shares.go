package recording

import (
	"cmp"
	"math"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// A GPU's time is divided among its processes and adds up to one GPU. While the GPU is busy, its
// time belongs to the processes that compute, in proportion to their utilization. The rest belongs
// to the processes that hold its memory, in proportion to their memory. Thus no process is busy for
// longer than it holds the GPU, and together they hold it as long as any process is on it. A job
// that was given a GPU also holds it while it runs nothing there. Energy is divided in the same
// proportions. A MIG instance counts by its share of the GPU's slices. No process holds a lost GPU,
// even if probes on it still report.

// share is a process's part of a GPU's time and energy.
type share struct {
	held, busy, idle float64 // ns; busy and idle while the GPU's utilization is known
	energy           float64 // J
	taken            bool    // held is known
	loaded, metered  bool    // loaded: busy and idle are known; metered: energy is known
}

func (s *share) add(o share) {
	s.held, s.busy, s.idle, s.energy = s.held+o.held, s.busy+o.busy, s.idle+o.idle, s.energy+o.energy
	s.taken, s.loaded, s.metered = s.taken || o.taken, s.loaded || o.loaded, s.metered || o.metered
}

func rounded(v float64, known bool) quantity.Optional[int64] {
	if !known {
		return quantity.Optional[int64]{}
	}
	return quantity.From(int64(math.Round(v)), quantity.Computed)
}

type divider struct {
	meters map[string]meter
	drawn  map[string]snapshot.Float // J since the last tick, by GPU
	rows   []share                   // in the order of the rows that divide returned
}

// meter follows a GPU's energy counter, which is read every ten seconds. Between two readings, a
// tick's energy is estimated from the power. A reading corrects the estimates: if they were too
// high, the next ticks get less.
type meter struct {
	counter     snapshot.Float // at the last tick
	ahead, owed float64        // J given that the counter does not show yet; J given too much, to be taken off the next ticks
}

// give returns the energy of a tick, in J. power is the estimate from the GPU's power. counted is
// the rise of the counter, 0 without a new reading.
func (m *meter) give(power, counted float64) (given float64) {
	if counted > 0 {
		left := counted - m.ahead
		m.ahead, m.owed = max(-left, 0), max(-left, 0)
		return max(left, 0)
	}
	given = max(power-m.owed, 0)
	m.ahead, m.owed = m.ahead+given, m.owed-(power-given)
	return given
}

// divide divides the time of a tick among rows: those of the snapshot, and one for each job that
// has a GPU and runs nothing on it. It returns these rows and leaves their shares in d.rows. Energy is
// unknown after a gap, and if its counter has gone back or is unknown at this or the previous tick.
func (d *divider) divide(weight, elapsed time.Duration, snap *snapshot.Snapshot) (rows []snapshot.Process) {
	rows = slices.Clip(snap.Rows) // the snapshot's array must not be appended to
	for i := range snap.GPUs {
		if a := snap.GPUs[i].Allocation; a != nil {
			rows = append(rows, a.Row(&snap.GPUs[i]))
		}
	}
	if d.meters == nil {
		d.meters, d.drawn = make(map[string]meter), make(map[string]snapshot.Float)
	}
	clear(d.drawn)
	d.rows = append(d.rows[:0], make([]share, len(rows))...)
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		m := d.meters[g.UUID]
		now, known := g.Energy.Value()
		before, counted := m.counter.Value()
		if known && counted && now >= before && elapsed > 0 && weight == elapsed {
			d.drawn[g.UUID] = quantity.From(m.give(g.Power.Or(0)*elapsed.Seconds(), now-before), quantity.Computed)
			m.counter = g.Energy
		} else if !known || !counted || now != before { // the counter moved in a gap, went back or is unknown: the meter starts again
			m = meter{counter: g.Energy}
		}
		d.meters[g.UUID] = m
		if weight <= 0 {
			continue
		}
		if len(g.Instances) == 0 {
			part := 1.0
			if g.State == snapshot.GPULost {
				part = 0
			}
			d.share(g, snapshot.InstanceID{}, part, weight, rows)
		}
		for k := range g.Instances {
			in := &g.Instances[k]
			part := 1 / float64(len(g.Instances))
			if in.Slices > 0 {
				part = min(float64(in.Slices)/float64(cmp.Or(in.Whole, snapshot.MIGSlices)), 1)
			}
			d.share(g, in.ID, part, weight, rows)
		}
	}
	return rows
}

// share divides the time and energy of a GPU or an instance. part is the fraction of the GPU that the
// instance has: 1 for a whole GPU, 0 for a lost one.
func (d *divider) share(g *snapshot.GPU, instance snapshot.InstanceID, part float64, weight time.Duration, rows []snapshot.Process) {
	n, memory, load := 0, 0.0, 0.0
	memoryKnown, loadKnown := true, true
	onInstance := func(p *snapshot.Process) bool { return p.ID.GPUUUID == g.UUID && p.ID.Instance == instance }
	for i := range rows {
		if p := &rows[i]; onInstance(p) {
			n++
			memory, load = memory+float64(p.Used.Or(0)), load+float64(p.SMUtilization.Or(0))
			memoryKnown, loadKnown = memoryKnown && p.Used.Known(), loadKnown && p.SMUtilization.Known()
		}
	}
	percent, loaded := g.Utilization.Value()
	busy := min(max(float64(percent), 0), 100) / 100
	energy, metered := d.drawn[g.UUID].Value()
	for i := range rows {
		p := &rows[i]
		if !onInstance(p) {
			continue
		}
		holds := 1 / float64(n)
		if memoryKnown && memory > 0 {
			holds = float64(p.Used.Or(0)) / memory
		}
		computes := holds
		if loadKnown && load > 0 {
			computes = float64(p.SMUtilization.Or(0)) / load
		}
		s := share{taken: true, loaded: loaded, metered: metered}
		fraction := part * (busy*computes + (1-busy)*holds)
		s.held, s.energy = fraction*float64(weight), fraction*energy
		if loaded {
			s.busy, s.idle = part*busy*computes*float64(weight), part*(1-busy)*holds*float64(weight)
		}
		d.rows[i] = s
	}
}

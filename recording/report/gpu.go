package report

import (
	"cmp"
	"math"
	"sort"
	"time"

	"vramscope/internal/quantity"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// Idle holding is more than idleLeast of memory, for longer than idleLonger, at 0 % utilization.
const (
	idleLeast  = quantity.GiB
	idleLonger = 10 * time.Minute
)

// parts are amounts of memory over time, in GiB·h. Each is unknown until its first known amount.
type parts [partCount]snapshot.Float

const (
	used = iota
	allocated
	cached
	fragmented
	other
	unknown
	free
	capacity
	partCount
)

// add adds mean amounts over a time, in the order of the parts. An unknown mean adds nothing.
func (p *parts) add(over time.Duration, means ...snapshot.Bytes) {
	for i, mean := range means {
		p[i] = quantity.Sum(p[i], figure(gibHours(mean.Or(0), over), mean.Known()))
	}
}

func (p *parts) join(more *parts) {
	for i := range p {
		p[i] = quantity.Sum(p[i], more[i])
	}
}

func figure(v float64, known bool) snapshot.Float {
	if !known {
		return snapshot.Float{}
	}
	return quantity.From(v, quantity.Computed)
}

type load struct {
	busy float64 // per cent, times hours
	over time.Duration
}

func (l *load) add(mean snapshot.Float, over time.Duration) {
	if v, ok := mean.Value(); ok {
		l.join(&load{v * over.Hours(), over})
	}
}

func (l *load) join(other *load) {
	l.busy += other.busy
	l.over += other.over
}

func (l *load) mean() snapshot.Float { return figure(l.busy/l.over.Hours(), l.over > 0) }

// memory sums figures over time, for one GPU or all.
type memory struct {
	recorded time.Duration
	measured time.Duration // the part of recorded with known used memory
	parts
	load     load
	idleTime time.Duration
	energy   snapshot.Float // kWh
}

// add adds a minute of a GPU. The used memory of a lost GPU is unknown.
func (m *memory) add(minute *recording.GPUMinute, whole snapshot.Bytes) {
	m.recorded += minute.Covered
	if minute.Used.Mean.Known() {
		m.measured += minute.Covered
	} else {
		whole = snapshot.Bytes{}
	}
	m.parts.add(minute.Covered, minute.Used.Mean, minute.Allocated, minute.Cached, minute.Fragmented, minute.Other, minute.Unknown, minute.Free, whole)
	m.load.add(minute.Utilization.Mean, minute.Covered)
	m.energy = quantity.Sum(m.energy, figure(float64(minute.Energy.Or(0))/3.6e6, minute.Energy.Known()))
}

func (m *memory) join(g *memory) {
	m.recorded += g.recorded
	m.parts.join(&g.parts)
	m.load.join(&g.load)
	m.idleTime += g.idleTime
	m.energy = quantity.Sum(m.energy, g.energy)
}

func (m *memory) document() schema.ReportMemory {
	amount := func(part int) *schema.ReportAmount {
		hours, known := m.parts[part].Value()
		if !known {
			return nil
		}
		return &schema.ReportAmount{GiBHours: hours, Percent: share(hours, m.parts[capacity].Or(0))}
	}
	return schema.ReportMemory{
		Used: amount(used), Allocated: amount(allocated), Cached: amount(cached), Fragmented: amount(fragmented),
		Other: amount(other), Unknown: amount(unknown), Free: amount(free),
	}
}

// idleHours returns the time of idle holding, unknown without utilization or used memory.
func (m *memory) idleHours() snapshot.Float {
	return figure(m.idleTime.Hours(), m.load.over > 0 && m.parts[used].Known())
}

type gpuSums struct {
	snapshot.GPU
	memory
	idle     idleRun
	idleAt   minuteSet // the minutes of idle holding; processSums reads them
	peak     snapshot.Bytes
	peakTime time.Time
	timeline timeline

	full fullness
}

func (g *gpuSums) add(m *recording.GPUMinute) {
	g.memory.add(m, g.Memory.Capacity())
	if highest, ok := m.Used.Max.Value(); ok && (!g.peak.Known() || highest > g.peak.Or(0)) {
		g.peak, g.peakTime = m.Used.Max, m.Time
	}
	idle := isIdle(m.Utilization.Max, m.Used.Min)
	if turned := g.idle.add(m.Time, time.Minute, m.Covered, idle); turned > 0 {
		g.idleTime += turned
		for at := g.idle.begin; !at.After(m.Time); at = at.Add(time.Minute) {
			g.idleAt.add(at)
		}
		g.idle.begin = g.idle.next
	}
	g.full.add(g, m)
	g.timeline.add(m)
}

func isIdle(utilization snapshot.Int, held snapshot.Bytes) bool {
	busy, ok := utilization.Value()
	return ok && busy == 0 && held.Or(0) > idleLeast
}

// idleRun tracks a run of idle time without a gap.
type idleRun struct {
	begin   time.Time     // of the run, or of its part that is not in idleAt yet
	next    time.Time     // the end of the newest stretch
	pending time.Duration // the length of the run
}

// add takes a stretch of time, and returns how much more time counts as idle holding: nothing until
// the run is longer than idleLonger, and then the whole run at once. A gap ends a run.
func (r *idleRun) add(t time.Time, step, covered time.Duration, idle bool) (turned time.Duration) {
	was := r.pending
	if !t.Equal(r.next) {
		was = 0
	}
	r.next, r.pending = t.Add(step), 0
	if !idle {
		return 0
	}
	if r.pending = was + covered; was == 0 {
		r.begin = t
	}
	switch {
	case r.pending <= idleLonger:
		return 0
	case was > idleLonger:
		return covered
	default:
		return r.pending
	}
}

// minuteSet is a set of minutes since 1970, as ascending runs [begin, end).
type minuteSet []struct{ begin, end int64 }

func minuteOf(t time.Time) int64 { return t.Unix() / 60 }

// add adds a minute, unless a later minute is already in the set.
func (s *minuteSet) add(t time.Time) {
	minute, last := minuteOf(t), len(*s)-1
	switch {
	case last < 0 || minute > (*s)[last].end:
		*s = append(*s, struct{ begin, end int64 }{minute, minute + 1})
	case minute == (*s)[last].end:
		(*s)[last].end++
	}
}

// count checks the given number of minutes, beginning with that of from, and returns how many of them
// are in the set.
func (s minuteSet) count(from time.Time, minutes int) (n int64) {
	begin := minuteOf(from)
	end := begin + int64(minutes)
	first := sort.Search(len(s), func(i int) bool { return s[i].end > begin })
	for i := first; i < len(s) && s[i].begin < end; i++ {
		n += min(s[i].end, end) - max(s[i].begin, begin)
	}
	return n
}

func (g *gpuSums) document() schema.ReportGPU {
	return schema.ReportGPU{
		GPU: g.Index, UUID: g.UUID, Name: schema.Text(g.Name), CapacityBytes: g.Memory.Capacity(), RecordedSeconds: g.recorded.Seconds(),
		Memory: g.memory.document(), PeakBytes: g.peak, PeakTime: schema.Time(g.peakTime), Timeline: g.timeline.document(),
		UtilizationPercent: g.load.mean(), IdleHours: g.idleHours(), EnergyKWh: g.energy,
	}
}

// mostBuckets limits the buckets of a timeline, which are the columns of a chart.
const mostBuckets = 240

type timeline struct {
	from    time.Time
	length  time.Duration // of a bucket
	buckets []bucket
}

type bucket struct {
	memory
	usedMax snapshot.Bytes
}

func newTimeline(q Question) timeline {
	length := (q.To.Sub(q.From)/mostBuckets + time.Minute - 1).Truncate(time.Minute)
	length = max(length, time.Minute)
	n := int((q.To.Sub(q.From) + length - 1) / length)
	return timeline{q.From, length, make([]bucket, n)}
}

func (l *timeline) add(m *recording.GPUMinute) {
	b := &l.buckets[min(int(m.Time.Sub(l.from)/l.length), len(l.buckets)-1)]
	b.add(m, snapshot.Bytes{})
	if v, ok := m.Used.Max.Value(); ok && v >= b.usedMax.Or(0) {
		b.usedMax = m.Used.Max
	}
}

func (l *timeline) document() []schema.ReportPoint {
	points := []schema.ReportPoint{}
	for i := range l.buckets {
		b := &l.buckets[i]
		if b.recorded == 0 {
			continue
		}
		mean := func(part int) snapshot.Bytes {
			hours, known := b.parts[part].Value()
			if !known {
				return snapshot.Bytes{}
			}
			return quantity.From(quantity.Bytes(math.Round(hours/cmp.Or(b.measured, b.recorded).Hours()*float64(quantity.GiB))), quantity.Computed)
		}
		points = append(points, schema.ReportPoint{
			Time: schema.Time(l.from.Add(time.Duration(i) * l.length)), RecordedSeconds: b.recorded.Seconds(),
			UsedBytes: mean(used), UsedMaxBytes: b.usedMax, AllocatedBytes: mean(allocated), CachedBytes: mean(cached),
			FragmentedBytes: mean(fragmented), OtherBytes: mean(other), UnknownBytes: mean(unknown), UtilizationPercent: b.load.mean(),
		})
	}
	return points
}

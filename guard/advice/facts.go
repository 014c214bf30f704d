package advice

import (
	"cmp"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// How far back the rules look.
const (
	stepTime   = 2 * time.Minute // for what is allocated at a step's end
	loopTime   = 10 * time.Minute
	cachedTime = 2 * time.Hour
)

// fewestSteps is the number of steps after which a program has had its first peaks.
const fewestSteps = 20

// facts are the measured figures of a process.
type facts struct {
	Input
	now         time.Time
	process     *snapshot.Process
	allocator   *snapshot.Allocator // of PyTorch, JAX or TensorFlow; nil without one
	config      string              // the allocator's configuration and the environment's
	environment string
	gpu         *snapshot.GPU
	capacity    snapshot.Bytes // the capacity of its GPU or MIG instance
	neighbours  []*snapshot.Process

	trough snapshot.Bytes // allocated at a step's end
	tooth  snapshot.Bytes // the allocator's peak less the trough
	steps  quantity.Optional[int64]
}

func gather(in Input, id snapshot.RowID) *facts {
	p := in.Snapshot.Row(id)
	if p == nil || p.Probe != nil && (p.Probe.Rejected != "" || p.Probe.Doubted || p.Probe.State == snapshot.ProbeSilent) {
		return nil
	}
	f := &facts{Input: in, now: in.Snapshot.Time, process: p, gpu: in.Snapshot.GPU(id.GPUUUID), environment: environment(in.Environment)}
	if f.gpu == nil || f.gpu.State != snapshot.GPUOK {
		return nil
	}
	f.capacity = f.gpu.MemoryOf(id.Instance).Capacity()
	for row := range in.Snapshot.GPURows(id.GPUUUID) {
		if row.ID.Instance == id.Instance && row.ID.Process != id.Process {
			f.neighbours = append(f.neighbours, row)
		}
	}
	for i := range p.Allocators {
		switch a := &p.Allocators[i]; a.Kind {
		case "pytorch", "jax", "tensorflow":
			f.allocator = a
		}
	}
	f.config = f.environment
	if f.allocator != nil {
		f.config += f.allocator.Config
	}
	f.measureSteps()
	return f
}

// points returns a metric of the row in buckets, oldest first, without empty buckets.
func (f *facts) points(id metric.ID, back, bucket time.Duration) (known []snapshot.Point) {
	if f.History == nil {
		return nil
	}
	key := snapshot.SeriesKey{Metric: id, GPUUUID: f.process.ID.GPUUUID, Instance: f.process.ID.Instance, Row: f.process.ID}
	for _, point := range f.History.Series(key, f.now.Add(-back), f.now, int(back/bucket)) {
		if point.Known {
			known = append(known, point)
		}
	}
	return known
}

// covers reports whether samples reach back for nearly all of back, without large gaps.
func (f *facts) covers(points []snapshot.Point, back, bucket time.Duration) bool {
	return len(points) > 0 && f.now.Sub(points[0].Time) >= back*9/10 && len(points) >= int(back/bucket)*9/10
}

func lowest(points []snapshot.Point) quantity.Bytes {
	return quantity.Bytes(slices.MinFunc(points, func(a, b snapshot.Point) int { return cmp.Compare(a.Min, b.Min) }).Min)
}

// measureSteps measures the memory that a step takes and frees. One sample a second misses a
// step's peak, so it uses the allocator's own peak, which vramscope does not reset.
func (f *facts) measureSteps() {
	steps := f.points(metric.Steps, stepTime, time.Second)
	if f.process.Steps.Or(0) < fewestSteps || len(steps) < 2 || steps[len(steps)-1].Last == steps[0].Last {
		return
	}
	f.steps = quantity.From(steps[len(steps)-1].Last-steps[0].Last, quantity.Probe)
	// The optimizer allocates its state in the first step, so samples before fewestSteps may be too low.
	allocated := f.points(metric.Allocated, stepTime, time.Second)
	for len(steps) > 0 && steps[0].Min < fewestSteps {
		steps = steps[1:]
	}
	for len(allocated) > 0 && (len(steps) == 0 || allocated[0].Time.Before(steps[0].Time)) {
		allocated = allocated[1:]
	}
	if len(allocated) < fewestSteps {
		return
	}
	trough := lowest(allocated)
	f.trough = quantity.From(trough, quantity.Computed)
	if f.allocator == nil {
		return
	}
	if peak, ok := f.allocator.PeakAllocated.Value(); ok && peak > trough && !f.sleeps() {
		f.tooth = quantity.From(peak-trough, quantity.Computed)
	}
}

// sleeps reports whether memory of the process is asleep, which the allocator's peaks include.
func (f *facts) sleeps() bool { return f.process.Asleep.Or(0) > 0 }

// held returns what some classes hold, 0 if unknown.
func (f *facts) held(classes ...string) (sum quantity.Bytes) {
	for i := range f.Held {
		if slices.Contains(classes, f.Held[i].Class) {
			sum += f.Held[i].Bytes
		}
	}
	return sum
}

// full reports whether the process fills its GPU or has failed to allocate.
func (f *facts) full() bool {
	return f.process.Used.Or(0)+f.peakGap() >= f.share(nearFull) || f.failures() > 0
}

// share returns a part of the capacity, or 0 if the capacity is unknown.
func (f *facts) share(part float64) quantity.Bytes {
	return quantity.Bytes(part * float64(f.capacity.Or(0)))
}

// short returns a neighbour that has lacked memory or run out of it, or nil.
func (f *facts) short() *snapshot.Process {
	for _, n := range f.neighbours {
		if p := n.Probe; p != nil && (p.OutOfMemoryCount.Or(0) > 0 || p.AllocRetries.Or(0) > 0) {
			return n
		}
	}
	return nil
}

// events returns the last hour's events of a kind on the process's GPU, newest first.
func (f *facts) events(kind snapshot.EventKind) (found []snapshot.Event) {
	if f.History == nil {
		return nil
	}
	const read = 500
	for _, e := range f.History.Events(read) {
		if e.Kind == kind && e.GPUUUID == f.process.ID.GPUUUID && f.now.Sub(e.Time) <= time.Hour && !e.Time.After(f.now) {
			found = append(found, e)
		}
	}
	return found
}

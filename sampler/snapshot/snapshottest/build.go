package snapshottest

import (
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Now returns the moment of the snapshots.
func Now() time.Time { return time.Date(2026, 11, 20, 12, 4, 17, 0, time.UTC) }

// gib returns an amount in GiB, from the driver.
func gib(amount float64) snapshot.Bytes {
	return quantity.From(quantity.Bytes(amount*float64(quantity.GiB)), quantity.Driver)
}

// reported returns an amount in GiB, from a probe.
func reported(amount float64) snapshot.Bytes {
	return quantity.From(quantity.Bytes(amount*float64(quantity.GiB)), quantity.Probe)
}

func whole(v int) snapshot.Int { return quantity.From(v, quantity.Driver) }

func float(v float64) snapshot.Float { return quantity.From(v, quantity.Driver) }

func count[T any](v T) quantity.Optional[T] { return quantity.From(v, quantity.Driver) }

// rowOf makes a row with the fields that all rows have.
func rowOf(gpu *snapshot.GPU, pid int, user, kind string, used float64, command ...string) snapshot.Process {
	p := snapshot.Process{
		ID: snapshot.RowID{
			Process: process.Identity{PID: pid, StartTime: uint64(1000 + pid), Namespace: 4026531836},
			GPUUUID: gpu.UUID,
		},
		GPU: gpu.Index, User: user, Type: kind, Used: gib(used), Peak: gib(used), Command: command, Parent: 1,
	}
	if len(command) > 0 {
		p.Name = command[0]
	}
	return p
}

// row is a Process with methods that set fields.
type row struct{ snapshot.Process }

func (r row) on(instance snapshot.InstanceID) row {
	r.ID.Instance = instance
	return r
}

// probed adds the stats of a probe to the row; the rest of used is other.
func (r row) probed(runtime, version string, allocated, fragmented, cached float64) row {
	r.Runtime, r.RuntimeVersion = runtime, version
	r.Allocated, r.Fragmented, r.Cached, r.Returnable = reported(allocated), reported(fragmented), reported(cached), reported(cached)
	r.Other = quantity.From(r.Used.Or(0)-reported(allocated+fragmented+cached).Or(0), quantity.Computed)
	r.Probe = &snapshot.Probe{
		State: snapshot.ProbeLive, Age: 400 * time.Millisecond,
		OutOfMemoryCount: count[int64](0), AllocRetries: count[int64](3),
	}
	r.Allocators = []snapshot.Allocator{{
		Kind: "pytorch", Basis: "stranded", Reserved: reported(allocated + fragmented + cached), Allocated: r.Allocated,
		Cached: r.Cached, Fragmented: r.Fragmented, Returnable: r.Returnable, Pending: reported(0.21), LargestFree: reported(2),
		Segments: count[int64](812), OutOfMemoryCount: count[int64](0), AllocRetries: count[int64](3),
	}}
	return r
}

// kept replaces the row's allocator by one that never frees cached memory.
func (r row) kept(kind string) row {
	r.Returnable = reported(0)
	r.Allocators[0].Kind, r.Allocators[0].Basis, r.Allocators[0].Returnable = kind, "largest_free", r.Returnable
	r.Allocators[0].Pending, r.Allocators[0].Segments = snapshot.Bytes{}, quantity.Unknown[int64]()
	return r
}

func (r row) since(up time.Duration) row {
	r.Started = Now().Add(-up)
	return r
}

func (r row) job(kind, id string) row {
	r.Job = process.Job{Kind: kind, ID: id}
	return r
}

// costs sets the process's use of its GPU (per cent; below zero is unknown) and of its host (per
// cent of a core, GiB).
func (r row) costs(sm int, cpu, host float64) row {
	if sm >= 0 {
		r.SMUtilization = whole(sm)
	}
	r.CPU = quantity.From(cpu, quantity.System)
	r.Host = quantity.From(quantity.Bytes(host*float64(quantity.GiB)), quantity.System)
	return r
}

// heading sets the trend of the process, and the forecast of its used memory in 60 s.
func (r row) heading(trend snapshot.Trend, in60 float64) row {
	r.Trend = trend
	r.Predicted = []snapshot.Prediction{predictionAt(time.Minute, in60, 0.2)}
	return r
}

func predictionAt(horizon time.Duration, median, spread float64) snapshot.Prediction {
	amount := func(v float64) quantity.Bytes { return quantity.Bytes(v * float64(quantity.GiB)) }
	return snapshot.Prediction{
		Horizon: horizon, Median: amount(median),
		Lower80: amount(median - spread), Upper80: amount(median + spread),
		Lower95: amount(median - 1.5*spread), Upper95: amount(median + 1.5*spread),
	}
}

// partsOf sums the parts of the rows on a GPU or instance.
func partsOf(rows []snapshot.Process, gpu string, instance snapshot.InstanceID, used snapshot.Bytes) snapshot.Parts {
	var parts snapshot.Parts
	var explained quantity.Bytes
	probed := false
	for i := range rows {
		p := &rows[i]
		if p.ID.GPUUUID != gpu || instance.MIG && p.ID.Instance != instance || !p.Allocated.Known() {
			continue
		}
		probed = true
		parts.Other = quantity.Sum(parts.Other, p.Other)
		parts.Allocated = quantity.Sum(parts.Allocated, p.Allocated)
		parts.Fragmented = quantity.Sum(parts.Fragmented, p.Unreturnable())
		parts.Returnable = quantity.Sum(parts.Returnable, p.Returnable)
		explained += p.Used.Or(0)
	}
	if v, ok := used.Value(); ok {
		parts.Unknown = quantity.From(max(v-explained, 0), quantity.Computed)
	}
	if v, ok := used.Value(); ok && v == 0 && !probed {
		parts.Returnable = reported(0)
	}
	return parts
}

package advice

import (
	"fmt"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

const (
	inVain       = 3                // flushes in vain, after which flushes are advised against
	backWithin   = time.Minute      // memory that is taken again within this time has come back
	inLoop       = 10               // times that a program empties its cache in loopTime: it does so in a loop
	idleLeast    = 10 * time.Minute // without work on a GPU, after which a process is idle
	manyContexts = 3                // processes on a GPU, from which on their contexts matter
)

func flushedInVain(f *facts) []Advice {
	var sum quantity.Bytes
	n := 0
	for _, e := range f.events(snapshot.EventFlush) {
		freed := e.Bytes.Or(0)
		if e.Row != f.process.ID || freed < minSaving || f.now.Sub(e.Time) < backWithin {
			continue
		}
		key := snapshot.SeriesKey{Metric: metric.Used, GPUUUID: e.Row.GPUUUID, Instance: e.Row.Instance, Row: e.Row}
		low, high := int64(-1), int64(0)
		for _, p := range f.History.Series(key, e.Time, e.Time.Add(backWithin), int(backWithin/time.Second)) {
			switch {
			case !p.Known:
			case low < 0 || p.Min < low:
				low, high = p.Min, p.Min
			default:
				high = max(high, p.Max)
			}
		}
		if low >= 0 && quantity.Bytes(high-low) >= freed*9/10 {
			n, sum = n+1, sum+freed
		}
	}
	if n < inVain {
		return nil
	}
	return []Advice{{Measure: noFlush, Text: fmt.Sprintf("do not flush it: %d flushes of the last hour, of %s together, came back within a minute, and the allocations cost again", n, sum)}}
}

// emptiedInLoop advises a program that calls empty_cache in its loop.
func emptiedInLoop(f *facts) []Advice {
	if f.allocator == nil || f.allocator.Kind != "pytorch" {
		return nil
	}
	cached, allocated := f.points(metric.Cached, loopTime, time.Second), f.points(metric.Allocated, loopTime, time.Second)
	if len(cached) < inLoop || len(cached) != len(allocated) {
		return nil
	}
	flushes := len(f.events(snapshot.EventFlush))
	n, freed := 0, int64(0)
	for i := 1; i < len(cached); i++ {
		before, after := cached[i-1].Last, cached[i].Last
		fell := before + allocated[i-1].Last - after - allocated[i].Last
		if before >= int64(minSaving) && after < before/4 && fell >= before/2 {
			n, freed = n+1, freed+before
		}
	}
	if n-flushes < inLoop {
		return nil
	}
	return []Advice{{Measure: noEmptyCache, Text: fmt.Sprintf(
		"leave torch.cuda.empty_cache() out of the loop: its cache was emptied %d times in ten minutes, of %s each time, and filled again", n, quantity.Bytes(freed/int64(n)))}}
}

// limits advises the largest of several processes that do not fit together.
func limits(f *facts) []Advice {
	p := f.process
	total, known := f.gpu.Memory.Total.Value()
	if len(f.neighbours) == 0 || f.allocator == nil || f.allocator.Kind != "pytorch" || !known || !f.capacity.Known() || sets(f.config, "per_process_memory_fraction") {
		return nil
	}
	peaks := p.Peak.Or(0)
	for _, n := range f.neighbours {
		if n.Peak.Or(0) > p.Peak.Or(0) {
			return nil
		}
		peaks += n.Peak.Or(0)
	}
	short := f.short()
	need, measured := f.allocator.PeakAllocated.Value()
	if short == nil || peaks <= f.capacity.Or(0) || !measured {
		return nil
	}
	share := min(float64(need)*1.1/float64(total)+.005, 1)
	brings := p.Peak.Or(0) - max(p.Other.Or(0), 0) - quantity.Bytes(share*float64(total))
	if brings < minSaving {
		return nil
	}
	m := fraction(share)
	return []Advice{m.of(brings, "%s: the peaks of %d processes add up to %s of %s, and PID %d was short of memory; its own tensors never needed more than %s",
		m.Setting, len(f.neighbours)+1, peaks, f.capacity.Or(0), short.ID.Process.PID, need)}
}

// contexts advises on the memory that many processes have outside their allocators.
func contexts(f *facts) []Advice {
	own, ok := f.process.Other.Value()
	if !ok || own < quantity.GiB {
		return nil
	}
	n, sum := 1, own
	for _, p := range f.neighbours {
		if other := p.Other.Or(0); other >= quantity.GiB {
			n, sum = n+1, sum+other
		}
	}
	if n < manyContexts {
		return nil
	}
	all := []Advice{fewerProcesses.of(own, "fewer processes: %d on this GPU have %s outside of their allocators (contexts, kernels, libraries), this one %s", n, sum, own)}
	if sets(f.environment, "CUDA_MODULE_LOADING=EAGER") {
		all = append(all, Advice{Measure: lazy, Text: lazy.Setting + ": EAGER loads every kernel of every library into each process"})
	}
	return all
}

func idle(f *facts) []Advice {
	p := f.process
	used, ok := p.Used.Value()
	if !ok || used < quantity.GiB {
		return nil
	}
	idleFor := f.idleFor()
	if idleFor < idleLeast {
		return nil
	}
	pid := p.ID.Process.PID
	since := quantity.BriefDuration(idleFor.Truncate(time.Minute))
	if frees := p.Frees(); frees >= minSaving && p.FlushRefusal("root") == "" {
		return []Advice{flushIdle.of(frees, "idle for %s with %s: a flush frees %s (vramscope flush %d), ending it frees all", since, used, frees, pid)}
	}
	return []Advice{endIdle.of(used, "idle for %s with %s, of which no flush frees anything: its end frees it", since, used)}
}

// idleFor returns how long the process has done nothing (an hour at most) or, if its utilization is not recorded, its whole GPU.
func (f *facts) idleFor() time.Duration {
	if f.process.SMUtilization.Or(0) > 0 {
		return 0
	}
	points := f.points(metric.SMUtilization, time.Hour, 15*time.Second)
	if f.covers(points, idleLeast, 15*time.Second) {
		began := points[0].Time
		for _, p := range points {
			if p.Max > 0 {
				began = p.Time
			}
		}
		return f.now.Sub(began)
	}
	if since := f.gpu.IdleSince; !since.IsZero() {
		if !f.process.Started.IsZero() && f.process.Started.After(since) {
			since = f.process.Started
		}
		return f.now.Sub(since)
	}
	return 0
}

// FlushOf advises a process that lacks memory to flush a neighbour.
func FlushOf(p *snapshot.Process, who string) (Advice, bool) {
	returnable, ok := p.Returnable.Value()
	if !ok || returnable <= 0 {
		return Advice{}, false
	}
	return flushNeighbour.of(returnable, "a flush of %s: vramscope flush %d", who, p.ID.Process.PID), true
}

// LetGo returns the advice for a program that ran out of memory while a variable, or the traceback
// of an error, kept much of it.
func LetGo(brings quantity.Bytes, what string, byError bool) Advice {
	if byError {
		return forgetError.of(brings, "%s, then gc.collect(): it keeps %s", forgetError.Setting, strings.TrimSuffix(what, ", kept by sys.last_traceback"))
	}
	return letGo.of(brings, "free what %s keeps, as far as it is no longer needed", what)
}

// HigherLimit returns the advice for a process that has reached a limit: with mps its limit as a
// client of MPS, otherwise its allocator's.
func HigherLimit(brings quantity.Bytes, mps bool) Advice {
	m := higherLimit
	if mps {
		m.Setting, m.Source = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", sourceMPS
	}
	return m.of(brings, "a higher limit: %s", m.Setting)
}

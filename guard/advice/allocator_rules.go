package advice

import (
	"fmt"
	"slices"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// fragmentedShare is the least share that is worth a change: of reserved memory, if it is fragmented,
// or of the capacity, if it is only cached or preallocated.
const fragmentedShare = 0.1

// expandablePage is the size of a page of an expandable segment. A page that is partly allocated
// cannot be freed.
const expandablePage = 20 * quantity.MiB

// Fragmented advises a process whose allocator has much free memory between its blocks, or as much as it lacks.
// It returns false if there is less, if the setting is already made, or if the allocator is not PyTorch's.
func Fragmented(kind, config string, free, reserved, lacking quantity.Bytes) (Advice, bool) {
	little := float64(free) < fragmentedShare*float64(reserved) && free-expandablePage < lacking
	if kind != "pytorch" || little || sets(config, "expandable_segments:true") {
		return Advice{}, false
	}
	return expandable.of(free-expandablePage, "%s: the %s that is free between its blocks becomes usable", expandable.Setting, free), true
}

// Replay is how PyTorch's allocator serves the requests of a process under some settings.
type Replay struct {
	Settings string
	Reserved quantity.Bytes // the most that was reserved
	Fails    bool           // one of the requests fails
}

// prices are what PyTorch's settings cost.
var prices = map[string]string{
	"expandable_segments":          expandable.Price,
	"max_split_size_mb":            "blocks above the limit are never split, so more is cached as whole blocks",
	"roundup_power2_divisions":     "sizes are rounded up",
	"garbage_collection_threshold": "collecting costs time",
}

// Replayed advises the settings under which nothing fails and the least is reserved, if that is
// less than under all[0], the settings in force. words describe what was replayed.
func Replayed(all []Replay, words string) (Advice, bool) {
	if len(all) == 0 {
		return Advice{}, false
	}
	best, m := all[0], expandable
	for _, r := range all[1:] {
		if !r.Fails && r.Reserved < all[0].Reserved && (best.Fails || r.Reserved < best.Reserved) {
			best = r
		}
	}
	name, _, _ := strings.Cut(best.Settings, ":")
	m.Setting, m.Price = allocatorVariable+best.Settings, prices[name]
	if best.Settings == "" {
		m.Setting = "unset " + strings.TrimSuffix(allocatorVariable, "=")
	}
	return m.of(all[0].Reserved-best.Reserved, "%s: %s, %s is reserved at most in place of %s", m.Setting, words, best.Reserved, all[0].Reserved), best != all[0]
}

// failures counts the allocator's out-of-memory errors and its retries.
func (f *facts) failures() int64 {
	if f.process.Probe == nil {
		return 0
	}
	return f.process.Probe.OutOfMemoryCount.Or(0) + f.process.Probe.AllocRetries.Or(0)
}

func fragmentation(f *facts) []Advice {
	a := f.allocator
	if a == nil || f.unexpandable() {
		return nil
	}
	if len(f.Replayed) > 0 {
		if one, ok := Replayed(f.Replayed, "replayed"); ok && one.Bytes.Or(0) >= minSaving {
			return []Advice{one}
		}
		return nil
	}
	if f.failures() == 0 {
		return nil
	}
	free, reserved := a.Fragmented.Or(0), a.Reserved.Or(0)
	one, ok := Fragmented(a.Kind, f.config, free, reserved, reserved)
	if !ok || free < minSaving {
		return nil
	}
	one.Text += "; " + text.Plural(int(f.failures()), "allocation", "allocations") + " had to be tried again or failed"
	return []Advice{one}
}

// unexpandable reports whether a program cannot have expandable segments: vLLM with its sleep
// mode refuses them, and PyTorch before 2.1 does not know them.
func (f *facts) unexpandable() bool {
	var major, minor int
	if _, err := fmt.Sscanf(f.process.RuntimeVersion, "%d.%d", &major, &minor); err == nil && (major < 2 || major == 2 && minor < 1) {
		return true
	}
	return f.sleeps() || slices.ContainsFunc(f.process.Command, func(word string) bool { return strings.HasPrefix(word, "--enable-sleep-mode") })
}

// cachedLong advises a process that has kept a cache for hours while a neighbour is short of memory.
func cachedLong(f *facts) []Advice {
	a := f.allocator
	if a == nil || a.Kind != "pytorch" || sets(f.config, "garbage_collection_threshold") {
		return nil
	}
	total, known := f.gpu.Memory.Total.Value()
	short := f.short()
	points := f.points(metric.Cached, cachedTime, cachedTime/120)
	if !known || short == nil || !f.covers(points, cachedTime, cachedTime/120) {
		return nil
	}
	stayed := min(lowest(points), f.process.Returnable.Or(0))
	if stayed < max(quantity.GiB, f.share(fragmentedShare)) {
		return nil
	}
	// Collection begins at 0.8 of the limit: with this limit, at the peak of allocated memory.
	limit := collection(min(float64(a.PeakAllocated.Or(f.process.Allocated.Or(0)))/0.8/float64(total), 0.95))
	return []Advice{limit.of(stayed, "%s, or the guard (docs/guard.md): %s has been cached for %s, and PID %d is short of memory",
		limit.Setting, stayed, quantity.BriefDuration(cachedTime), short.ID.Process.PID)}
}

// preallocation advises a JAX or TensorFlow process that holds memory without using it.
func preallocation(f *facts) []Advice {
	if f.allocator == nil {
		return nil
	}
	held := f.process.Unreturnable().Or(0)
	if held < max(quantity.GiB, f.share(fragmentedShare)) {
		return nil
	}
	one, ok := Preallocated(f.process, f.environment)
	if !ok || one.Bytes.Or(0) < minSaving {
		return nil
	}
	all := []Advice{one}
	total, known := f.gpu.Memory.Total.Value()
	peak, measured := f.allocator.PeakAllocated.Value()
	if f.allocator.Kind == "jax" && known && measured && total > 0 {
		share := min(float64(peak)*1.2/float64(total)+.005, .99)
		if brings := f.allocator.Reserved.Or(0) - quantity.Bytes(share*float64(total)); brings >= minSaving {
			m := jaxFraction(share)
			all = append(all, m.of(brings, "%s: its highest peak was %s", m.Setting, peak))
		}
	}
	return all
}

// Preallocated returns the advice for a process of JAX or TensorFlow that holds memory without
// using it. By default neither library frees before it exits, so the process keeps its peak.
func Preallocated(p *snapshot.Process, environment string) (Advice, bool) {
	held := p.Unreturnable().Or(0)
	for i := range p.Allocators {
		a := &p.Allocators[i]
		config := a.Config + " " + environment
		var m Measure
		switch {
		case a.Kind == "jax" && !sets(config, "XLA_PYTHON_CLIENT_PREALLOCATE=false", "XLA_PYTHON_CLIENT_PREALLOCATE=0", "XLA_PYTHON_CLIENT_ALLOCATOR=platform", "XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async"):
			m = jaxGrows
		case a.Kind == "tensorflow" && sets(config, "TF_GPU_ALLOCATOR=cuda_malloc_async"):
			continue
		case a.Kind == "tensorflow" && sets(config, "TF_FORCE_GPU_ALLOW_GROWTH=true", "memory_growth=true"):
			m = tfAsync
		case a.Kind == "tensorflow":
			m = tfGrows
		default:
			continue
		}
		reserved := a.Reserved.Or(held + p.Allocated.Or(0))
		one := m.of(min(held, reserved-a.PeakAllocated.Or(p.Allocated.Or(0))), "%s: it reserves %s, and %s of that is allocated", m.Setting, reserved, p.Allocated.Or(0))
		return one, one.Bytes.Or(0) > 0
	}
	return Advice{}, false
}

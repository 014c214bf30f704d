package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Advice is something that would have helped, and by how much.
type Advice struct {
	Text   string
	Bytes  quantity.Bytes // that it would have brought
	Enough bool           // that is at least what was lacking
	Price  string         // "" where there is none
}

const mostAdvice = 3

// advise lists what would have brought memory, as far as the figures show it. What
// is in force already is no advice.
func advise(e *Evidence, v *Verdict) []Advice {
	requested, known := e.Requested.Value()
	if !known || v.Cause == TooLarge || v.Cause == CannotTell {
		return nil
	}
	lacking := max(requested-e.Free.Or(0), 1)
	var all []Advice
	add := func(bytes quantity.Bytes, price, format string, args ...any) {
		if bytes >= quantity.MiB {
			all = append(all, Advice{Text: fmt.Sprintf(format, args...), Bytes: bytes, Enough: bytes >= lacking, Price: price})
		}
	}
	if v.Cause == LimitSet {
		lacking = e.Reserved.Or(0) + requested - e.Limit.Or(0)
		add(e.Capacity.Or(0)-e.Limit.Or(0), "the others on the device have less", "a higher limit: torch.cuda.set_per_process_memory_fraction")
	} else {
		for i := range e.Neighbours {
			neighbourAdvice(&e.Neighbours[i].Process, add)
		}
	}
	f := e.Event.OutOfMemory
	if inside := e.Reserved.Or(0) - e.Allocated.Or(0); f != nil && f.Allocator == "pytorch" && e.Reserved.Known() && e.Allocated.Known() &&
		float64(inside) >= fragmentedShare*float64(e.Reserved.Or(0)) && !strings.Contains(strings.ToLower(f.Config), "expandable_segments:true") {
		add(inside, "its tensors cannot be shared with other processes by CUDA IPC in every release",
			"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: the free memory between its blocks becomes usable")
	}
	if tooth := toothOf(e); tooth >= lacking && (v.Cause == OwnGrowth || v.Cause == NeighbourTook) {
		add(tooth*6/10, "20 to 30 % more time a step", "activation checkpointing: about 60 %% of the %s that it takes and frees in a step", tooth)
	}
	slices.SortStableFunc(all, func(a, b Advice) int {
		if a.Enough != b.Enough {
			return map[bool]int{true: -1, false: 1}[a.Enough]
		}
		return cmp.Compare(b.Bytes, a.Bytes)
	})
	return all[:min(len(all), mostAdvice)]
}

func neighbourAdvice(p *snapshot.Process, add func(bytes quantity.Bytes, price, format string, args ...any)) {
	who := nameOf(p)
	if returnable, ok := p.Returnable.Value(); ok && returnable > 0 {
		add(returnable, "it allocates again what it needs", "a flush of %s: vramscope flush %d", who, p.ID.Process.PID)
		return
	}
	idle := p.Cached.Or(0) + p.Fragmented.Or(0)
	switch p.Runtime {
	case "JAX":
		add(idle, "slower allocations, more fragmentation", "XLA_PYTHON_CLIENT_PREALLOCATE=false for %s, which holds what it does not use", who)
	case "TensorFlow":
		add(idle, "more fragmentation", "TF_FORCE_GPU_ALLOW_GROWTH=true for %s, which holds what it does not use", who)
	}
}

// toothOf is the largest fall of allocated memory in the last minute: what a step
// takes and frees, and not what the process has come to hold.
func toothOf(e *Evidence) (fall quantity.Bytes) {
	if e.Steps.Or(0) < leakSteps {
		return 0
	}
	var most quantity.Bytes
	for _, s := range e.Recent[max(len(e.Recent)-60, 0):] {
		if v, ok := s.Allocated.Value(); ok {
			most = max(most, v)
			fall = max(fall, most-v)
		}
	}
	return fall
}

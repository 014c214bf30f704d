package snapshot

import (
	"fmt"
	"slices"
	"time"
)

// What is known of allocators that matters to a flush. Sources:
// https://pytorch.org/docs/stable/notes/cuda.html#memory-management
// https://docs.jax.dev/en/latest/gpu_memory_allocation.html
// https://www.tensorflow.org/api_docs/python/tf/config/experimental/set_memory_growth
const (
	kindPool       = "cuda_pool"
	kindGraph      = "cuda_graph"
	kindJAX        = "jax"
	kindTensorFlow = "tensorflow"
)

// divisible reports whether the allocator can give a part of its cache back.
// PyTorch's and CuPy's know all or nothing.
func (a *Allocator) divisible() bool { return a.Kind == kindPool || a.Kind == kindGraph }

// FlushesInParts reports whether a flush of the process can be done in steps:
// all that would give something back can give back a part of it.
func (p *Process) FlushesInParts() bool {
	found := false
	for i := range p.Allocators {
		a := &p.Allocators[i]
		if a.Returnable.Or(a.Cached.Or(0)) <= 0 {
			continue
		}
		if !a.divisible() {
			return false
		}
		found = true
	}
	return found
}

// ReturnableIsExact reports whether Returnable is what a flush gives back, and
// not only the most that it can: how much of a memory pool is stuck between
// live blocks shows in a flush. What has been freed since the last one may be
// stuck as well.
func (p *Process) ReturnableIsExact() bool {
	return !slices.ContainsFunc(p.Allocators, func(a Allocator) bool {
		return a.Basis == postFlush && a.Cached.Or(0) > 0
	})
}

// FragmentedKnown reports whether every allocator knows how much of its memory
// is stuck: a pool that was never flushed does not.
func (p *Process) FragmentedKnown() bool {
	return !slices.ContainsFunc(p.Allocators, func(a Allocator) bool {
		return a.Basis == postFlush && !a.Fragmented.Known() && a.Cached.Or(0) > 0
	})
}

const postFlush = "post_flush"

// FlushRefusal says why nobody can have the process give memory back, "" where
// it can be asked to. The viewer is the user who would ask; his name is "root"
// where he may ask everybody's.
func (p *Process) FlushRefusal(viewer string) string {
	pid := p.ID.Process.PID
	switch {
	case p.ID.Process.Foreign():
		return fmt.Sprintf("PID %d is another container's process: no action is offered on it", pid)
	case p.Probe == nil && p.User != "" && viewer != "" && viewer != "root" && p.User != viewer:
		return fmt.Sprintf("PID %d is %s's, you are %s: a probe answers its own user only", pid, p.User, viewer)
	case p.Probe == nil:
		return fmt.Sprintf("PID %d has no probe: nobody can ask it to give memory back", pid)
	case p.Probe.State == ProbeSilent && p.Probe.Age < time.Second:
		return fmt.Sprintf("the probe of PID %d does not answer: a stopped process cannot", pid)
	case p.Probe.State == ProbeSilent:
		return fmt.Sprintf("the probe of PID %d has been silent for %s", pid, p.Probe.Age.Round(time.Second))
	case p.returns():
		return ""
	}
	for i := range p.Allocators {
		switch p.Allocators[i].Kind {
		case kindJAX:
			return "JAX cannot release: start it with XLA_PYTHON_CLIENT_ALLOCATOR=platform"
		case kindTensorFlow:
			return "TensorFlow cannot release: start it with TF_GPU_ALLOCATOR=cuda_malloc_async"
		}
	}
	return ""
}

// NothingToFlush says why a flush would give nothing back at the moment, as far
// as the process's books tell; "" where it would.
func (p *Process) NothingToFlush() string {
	switch {
	case p.returns():
		return ""
	case p.Cached.Or(0) > 0:
		return fmt.Sprintf("PID %d holds on to its cache: private pools in use give nothing back", p.ID.Process.PID)
	default:
		return fmt.Sprintf("PID %d has nothing to give back", p.ID.Process.PID)
	}
}

// returns reports whether there is something that a flush would give back.
func (p *Process) returns() bool {
	return len(p.Evictable) > 0 || p.Returnable.Or(p.Cached.Or(0)) > 0
}

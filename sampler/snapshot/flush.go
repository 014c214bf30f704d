package snapshot

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"vramscope/internal/quantity"
)

// Kinds of allocators that a flush treats differently. Sources:
// https://pytorch.org/docs/stable/notes/cuda.html#memory-management
// https://docs.jax.dev/en/latest/gpu_memory_allocation.html
// https://www.tensorflow.org/api_docs/python/tf/config/experimental/set_memory_growth
const (
	kindPool       = "cuda_pool"
	kindGraph      = "cuda_graph"
	kindJAX        = "jax"
	kindTensorFlow = "tensorflow"
)

// FlushesInParts reports whether a flush of the process can be done in steps, because every
// allocator with something to free can free a part of it.
func (p *Process) FlushesInParts() bool {
	found := false
	for i := range p.Allocators {
		a := &p.Allocators[i]
		if a.Returnable.Or(a.Cached.Or(0)) <= 0 {
			continue
		}
		if a.Kind != kindPool && a.Kind != kindGraph { // the allocators of PyTorch and CuPy free all or nothing
			return false
		}
		found = true
	}
	return found
}

// Bound says in which direction the memory that a flush frees may differ from Returnable.
type Bound string

// The values are those of the protocol.
const (
	Exactly Bound = ""
	Most    Bound = "most"  // the flush may free less
	Least   Bound = "least" // the flush may free more
	About   Bound = "about" // the flush may free less or more
)

// Words returns the text before an amount: "up to ".
func (b Bound) Words() string {
	return map[Bound]string{Most: "up to ", Least: "at least ", About: "about "}[b]
}

// Amount returns an amount with its bound: "up to 4.00G"; "an unknown amount" for 0 if Unlimited.
func (b Bound) Amount(amount quantity.Bytes) string {
	if amount <= 0 && b.Unlimited() {
		return "an unknown amount"
	}
	return b.Words() + amount.String()
}

// Unlimited reports whether a flush may free more than the amount.
func (b Bound) Unlimited() bool { return b == Least || b == About }

// And returns the bound of the sum of two amounts.
func (b Bound) And(other Bound) Bound {
	switch {
	case b == other || other == Exactly:
		return b
	case b == Exactly:
		return other
	default:
		return About
	}
}

// ReturnableBound returns how exact Returnable is.
func (p *Process) ReturnableBound() Bound {
	bound := Exactly
	for i := range p.Allocators {
		bound = bound.And(p.Allocators[i].Bound())
	}
	return bound
}

// Bound returns the bound that the allocator reports, or else one that follows from its other figures:
// how much of a pool's cache is fragmented shows only in a flush. A pool of the driver (kindPool) may
// also count memory as used that streams have not freed yet.
func (a *Allocator) Bound() Bound {
	switch {
	case a.Reserved.Known() && a.Reserved.Or(0) == 0:
		return Exactly
	case a.ReturnableBound != Exactly:
		return a.ReturnableBound
	case a.Basis == PostFlush && a.Kind == kindPool:
		return About
	case a.Basis == PostFlush && a.Cached.Or(0) > 0:
		return Most
	case a.uncertain():
		return Least
	}
	return Exactly
}

// uncertain reports whether a flush may free memory of the allocator that no figure shows.
func (a *Allocator) uncertain() bool {
	return a.Reserved.Or(0) > 0 && !a.Returnable.Known() && a.Cached.Or(0) == 0
}

// ReturnableKnown reports whether the allocators' figures show that a flush frees something, or
// that it frees nothing.
func (p *Process) ReturnableKnown() bool {
	return p.Returnable.Or(0) > 0 || !slices.ContainsFunc(p.Allocators, func(a Allocator) bool { return a.uncertain() })
}

// mayFree reports whether a flush may free memory that no figure shows. Such memory is in a pool,
// or in private pools that are not in use.
func (p *Process) mayFree() bool {
	return slices.ContainsFunc(p.Allocators, func(a Allocator) bool {
		return a.uncertain() || a.Bound() == Least && a.Cached.Or(0) > a.Returnable.Or(0)
	})
}

// FragmentedKnown reports whether every allocator knows how much of its memory is fragmented. A
// pool that was never flushed does not know this; neither does TensorFlow.
func (p *Process) FragmentedKnown() bool {
	return !slices.ContainsFunc(p.Allocators, func(a Allocator) bool {
		return !a.Fragmented.Known() && a.Cached.Or(0) > 0
	})
}

// FlushRefusal returns why the viewer cannot flush the process, or "" if the viewer can try. The
// viewer is the user who asks; "root" may ask the processes of every user.
func (p *Process) FlushRefusal(viewer string) string {
	pid := p.ID.Process.PID
	switch {
	case p.ID.Process.Foreign():
		return fmt.Sprintf("PID %d is %s: no action is offered on it", pid, p.ID.Process.Whose())
	case (p.Probe == nil || p.Probe.ByDaemon) && p.User != "" && viewer != "" && viewer != "root" && p.User != viewer:
		return fmt.Sprintf("PID %d is %s's, you are %s: a probe answers its own user only", pid, p.User, viewer)
	case p.Probe == nil:
		return fmt.Sprintf("PID %d has no probe", pid)
	case p.Probe.State == ProbeSilent && p.Probe.Age < time.Second:
		return fmt.Sprintf("the probe of PID %d gives no valid answer: is the process stopped?", pid)
	case p.Probe.State == ProbeSilent:
		return fmt.Sprintf("the probe of PID %d has been silent for %s", pid, p.Probe.Age.Round(time.Second))
	case p.Probe.Rejected != "":
		return p.Rejection()
	case p.Probe.Doubted:
		return fmt.Sprintf("PID %d: its probe reports more than the driver so far: wait for the driver's next readings", pid)
	case p.flushable():
		return ""
	}
	for i := range p.Allocators {
		switch a := &p.Allocators[i]; a.Kind {
		case kindJAX:
			return a.keeps("JAX", "XLA_PYTHON_CLIENT_PREALLOCATE=false", "XLA_PYTHON_CLIENT_PREALLOCATE=False",
				"XLA_PYTHON_CLIENT_PREALLOCATE=0", "XLA_PYTHON_CLIENT_ALLOCATOR=platform")
		case kindTensorFlow:
			return a.keeps("TensorFlow", "TF_FORCE_GPU_ALLOW_GROWTH=true", "memory_growth=True", "TF_GPU_ALLOCATOR=cuda_malloc_async")
		}
	}
	return ""
}

// keeps returns why a library frees nothing. It names the setting that makes the library reserve no
// more than it needs, unless the process was started with one of settings.
func (a *Allocator) keeps(library string, settings ...string) string {
	for _, setting := range settings {
		if strings.Contains(a.Config, setting) {
			return library + " keeps what it has reserved"
		}
	}
	return library + " keeps its cache. To reserve less: " + settings[0]
}

// Rejection returns why the figures of the process's probe are rejected, "" if they are not.
func (p *Process) Rejection() string {
	if p.Probe == nil || p.Probe.Rejected == "" {
		return ""
	}
	return fmt.Sprintf("PID %d: its probe is rejected: %s", p.ID.Process.PID, p.Probe.Rejected)
}

// Frees returns how much a flush should free: the returnable memory or, if unknown, the cached memory,
// at most the used memory.
func (p *Process) Frees() quantity.Bytes {
	frees := p.Returnable.Or(p.Cached.Or(0))
	return max(min(frees, p.Used.Or(frees)), 0)
}

// NothingToFlush returns why a flush would free nothing now, or "" if it may free something.
func (p *Process) NothingToFlush() string {
	switch {
	case p.flushable():
		return ""
	case p.Cached.Or(0) > 0:
		return fmt.Sprintf("PID %d keeps its cache: no flush frees private pools or native code's", p.ID.Process.PID)
	default:
		return fmt.Sprintf("PID %d has nothing to free", p.ID.Process.PID)
	}
}

func (p *Process) flushable() bool {
	return len(p.Evictable) > 0 || p.Frees() > 0 || p.mayFree()
}

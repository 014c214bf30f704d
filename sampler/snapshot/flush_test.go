package snapshot

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
)

// The rows of these tests.
const (
	leaking  = 2963112 // carol's PyTorch
	unprobed = 3011876 // bob's
	inJAX    = 2955020 // erin's
	foreign  = 184     // a process of another container
)

func rowFor(pid int) Process {
	amount := func(gib float64) Bytes {
		return quantity.From(quantity.Bytes(gib*float64(quantity.GiB)), quantity.Probe)
	}
	p := Process{ID: RowID{Process: process.Identity{PID: pid, StartTime: 1}, GPUUUID: "GPU-3"}}
	switch pid {
	case foreign:
		p.ID.Process.StartTime = 0
		return p
	case unprobed:
		p.User = "bob"
		return p
	}
	p.User, p.Probe = "carol", &Probe{State: ProbeLive}
	p.Cached, p.Returnable = amount(11.8), amount(11.8)
	a := Allocator{Kind: "pytorch", Basis: "stranded", Fragmented: amount(4.6)}
	if pid == inJAX {
		p.User, p.Returnable = "erin", amount(0)
		a.Kind, a.Basis = "jax", "largest_free"
	}
	a.Cached, a.Returnable = p.Cached, p.Returnable
	p.Allocators = []Allocator{a}
	return p
}

func TestFlushRefusal(t *testing.T) {
	reported := func(b quantity.Bytes) Bytes { return quantity.From(b, quantity.Probe) }
	for _, c := range []struct {
		name   string
		pid    int
		viewer string
		change func(*Process)
		want   string // a part of the refusal
	}{
		{"a probe and a cache", leaking, "carol", nil, ""},
		{"root may", leaking, "root", nil, ""},
		{"foreign", foreign, "root", nil, "another container's"},
		{"no probe", unprobed, "bob", nil, "PID 3011876 has no probe"},
		{"another user", unprobed, "alice", nil, "PID 3011876 is bob's, you are alice"},
		{"another user's, reported by the daemon", leaking, "alice", func(p *Process) { p.Probe.ByDaemon = true }, "is carol's, you are alice"},
		{"JAX", inJAX, "root", nil, "JAX keeps its cache. To reserve less: XLA_PYTHON_CLIENT_PREALLOCATE=false"},
		{"JAX that reserves what it needs", inJAX, "root", func(p *Process) {
			p.Allocators[0].Config = "XLA_PYTHON_CLIENT_ALLOCATOR=platform"
		}, "JAX keeps what it has reserved"},
		{"TensorFlow", inJAX, "root", func(p *Process) { p.Allocators[0].Kind = "tensorflow" }, "TensorFlow keeps its cache"},
		{"silent", leaking, "root", func(p *Process) {
			p.Probe.State, p.Probe.Age = ProbeSilent, 14*time.Second
		}, "silent for 14s"},
		{"found just now, and silent", leaking, "root", func(p *Process) {
			p.Probe.State, p.Probe.Age = ProbeSilent, 200*time.Millisecond
		}, "gives no valid answer"},
		{"private pools", leaking, "root", func(p *Process) { p.Returnable = reported(0) }, "private pools"},
		{"empty", leaking, "root", func(p *Process) {
			p.Returnable, p.Cached, p.Allocators[0].Cached = reported(0), reported(0), reported(0)
		}, "nothing to free"},
		{"empty, but evictable", leaking, "root", func(p *Process) {
			p.Returnable, p.Evictable = reported(0), []Evictable{{Name: "kv_cache"}}
		}, ""},
		{"only the cache is reported", leaking, "root", func(p *Process) { p.Returnable = Bytes{} }, ""},
	} {
		p := rowFor(c.pid)
		if c.change != nil {
			c.change(&p)
		}
		got := p.FlushRefusal(c.viewer)
		if got == "" {
			got = p.NothingToFlush()
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestBoundInWords(t *testing.T) {
	for bound, want := range map[Bound][2]string{
		Exactly: {"0", "1.00G"}, Most: {"up to 0", "up to 1.00G"},
		Least: {"an unknown amount", "at least 1.00G"}, About: {"an unknown amount", "about 1.00G"},
	} {
		if got := [2]string{bound.Amount(0), bound.Amount(quantity.GiB)}; got != want {
			t.Errorf("%q: %q, want %q", bound, got, want)
		}
	}
}

func TestFlushInPartsAndExactFigures(t *testing.T) {
	p := rowFor(leaking)
	if p.FlushesInParts() || p.ReturnableBound() != Exactly {
		t.Error("PyTorch frees all or nothing, and knows how much")
	}
	p.Allocators[0].Kind, p.Allocators[0].Basis, p.Allocators[0].Fragmented = "cuda_pool", "post_flush", Bytes{}
	raw := Allocator{Kind: "raw", Cached: quantity.From(quantity.Bytes(0), quantity.Probe)}
	p.Allocators = append(p.Allocators, raw)
	if !p.FlushesInParts() || p.ReturnableBound() != About || p.FragmentedKnown() {
		t.Error("a pool that was never flushed frees parts, and does not know how much in all")
	}
	p.Allocators[0].Fragmented = quantity.From(quantity.GiB, quantity.Probe)
	if !p.FragmentedKnown() || p.ReturnableBound() != About {
		t.Error("a flushed pool knows what was fragmented then, not what is now")
	}
	p.Allocators[0].Cached = quantity.From(quantity.Bytes(0), quantity.Probe)
	if p.ReturnableBound() != About {
		t.Error("a pool of the driver that caches nothing may have pending frees")
	}
	p.Allocators[0].Kind = "cupy"
	if p.ReturnableBound() != Exactly {
		t.Error("a pool that caches nothing knows that it frees nothing")
	}
	p.Allocators = []Allocator{raw}
	if p.FlushesInParts() {
		t.Error("raw allocations free nothing in a flush")
	}
}

package snapshot_test

import (
	"strings"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// drawnRow is a row of the drawn box.
func drawnRow(t *testing.T, pid int) snapshot.Process {
	t.Helper()
	box := snapshottest.DrawnBox()
	for i := range box.Rows {
		if box.Rows[i].ID.Process.PID == pid {
			return box.Rows[i]
		}
	}
	t.Fatalf("PID %d is not in the box", pid)
	return snapshot.Process{}
}

func TestFlushRefusal(t *testing.T) {
	books := func(b quantity.Bytes) snapshot.Bytes { return quantity.From(b, quantity.Probe) }
	for _, c := range []struct {
		name   string
		pid    int
		viewer string
		change func(*snapshot.Process)
		want   string // a part of it
	}{
		{"a probe and a cache", snapshottest.Leaking, "carol", nil, ""},
		{"root may", snapshottest.Leaking, "root", nil, ""},
		{"foreign", 184, "root", nil, "another container's"},
		{"no probe", snapshottest.Probeme, "bob", nil, "PID 3011876 has no probe"},
		{"another user", snapshottest.Probeme, "alice", nil, "PID 3011876 is bob's, you are alice"},
		{"JAX", 2955020, "root", nil, "JAX cannot release: start it with XLA_PYTHON_CLIENT_ALLOCATOR="},
		{"TensorFlow", 2955020, "root", func(p *snapshot.Process) { p.Allocators[0].Kind = "tensorflow" }, "TensorFlow cannot release"},
		{"silent", snapshottest.Leaking, "root", func(p *snapshot.Process) {
			p.Probe.State, p.Probe.Age = snapshot.ProbeSilent, 14*time.Second
		}, "silent for 14s"},
		{"private pools", snapshottest.Leaking, "root", func(p *snapshot.Process) { p.Returnable = books(0) }, "private pools"},
		{"empty", snapshottest.Leaking, "root", func(p *snapshot.Process) {
			p.Returnable, p.Cached, p.Allocators[0].Cached = books(0), books(0), books(0)
		}, "nothing to give back"},
		{"empty, but evictable", snapshottest.Leaking, "root", func(p *snapshot.Process) {
			p.Returnable, p.Evictable = books(0), []string{"kv_cache"}
		}, ""},
		{"only a cache is told", snapshottest.Leaking, "root", func(p *snapshot.Process) { p.Returnable = snapshot.Bytes{} }, ""},
	} {
		p := drawnRow(t, c.pid)
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

func TestWhatAFlushCanDo(t *testing.T) {
	p := drawnRow(t, snapshottest.Leaking)
	if p.FlushesInParts() || !p.ReturnableIsExact() {
		t.Error("PyTorch gives all or nothing, and knows how much")
	}
	p.Allocators[0].Kind, p.Allocators[0].Basis, p.Allocators[0].Fragmented = "cuda_pool", "post_flush", snapshot.Bytes{}
	raw := snapshot.Allocator{Kind: "raw", Cached: quantity.From(quantity.Bytes(0), quantity.Probe)}
	p.Allocators = append(p.Allocators, raw)
	if !p.FlushesInParts() || p.ReturnableIsExact() {
		t.Error("a pool that was never flushed gives parts, and does not know how much in all")
	}
	p.Allocators[0].Fragmented = quantity.From(quantity.GiB, quantity.Probe)
	if !p.ReturnableIsExact() {
		t.Error("a pool that has been flushed knows what is stuck")
	}
	p.Allocators = []snapshot.Allocator{raw}
	if p.FlushesInParts() {
		t.Error("raw allocations give nothing back, in parts or at all")
	}
}

package history

import (
	"fmt"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// A probe can invent GPUs: those that are there stay, of the others the newest.
func TestGPUsThatAreGoneAreForgotten(t *testing.T) {
	h := New()
	now := start
	gpu := func(uuid string) snapshot.GPU {
		return snapshot.GPU{UUID: uuid, Memory: snapshot.Memory{Used: quantity.From(quantity.GiB, quantity.Driver)}}
	}
	for i := range 2 * maxGone {
		now = now.Add(time.Minute)
		h.Record(now, &snapshot.Snapshot{Sequence: uint64(i), Time: now, GPUs: []snapshot.GPU{gpu("GPU-0"), gpu(fmt.Sprintf("GPU-%x", 0xabc000+i))}})
	}
	if n := len(h.gpus); n > maxGone+2 || h.gpus["GPU-0"] == nil {
		t.Errorf("%d GPUs are remembered, want at most %d, the driver's among them", n, maxGone+2)
	}
}

func TestSkewsAreLimited(t *testing.T) {
	r := &rowRecord{}
	for i := range 10_000 {
		p := &snapshot.Process{Used: quantity.From(quantity.GiB, quantity.Driver), Allocated: quantity.From(quantity.GiB, quantity.Driver)}
		if i%2 == 0 {
			p.Other = quantity.From(quantity.Bytes(0), quantity.Driver)
		}
		r.noteSkew(start.Add(time.Duration(i)*time.Second), p)
	}
	if len(r.Skews) > 64 || !r.skewedAt(start.Add(9999*time.Second)) || !r.skewedAt(start.Add(9997*time.Second)) || r.skewedAt(start.Add(9998*time.Second)) {
		t.Errorf("%d skews are remembered, the last is %v", len(r.Skews), r.Skews[len(r.Skews)-1])
	}
}

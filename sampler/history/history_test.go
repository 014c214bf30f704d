package history

import (
	"fmt"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// A probe can invent GPUs. All present GPUs are kept, and as many absent GPUs as maxGone.
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

func TestLogKeepsTheNewestEvents(t *testing.T) {
	h := New()
	if got := h.Events(3); len(got) != 0 {
		t.Errorf("an empty log has %v", got)
	}
	for i := range 2 * maxEvents {
		h.Append(snapshot.Event{GPU: i})
	}
	for _, limit := range []int{0, 1, maxEvents} {
		got := h.Events(limit)
		if want := limit; limit > 0 && len(got) != want || len(got) < maxEvents && limit == 0 || len(got) > maxEvents*11/10 {
			t.Errorf("limit %d: %d events", limit, len(got))
		}
		for i := range got {
			if want := 2*maxEvents - 1 - i; got[i].GPU != want {
				t.Fatalf("limit %d: event %d is %d, want %d", limit, i, got[i].GPU, want)
			}
		}
		got[0].GPU = -1
		if h.Events(1)[0].GPU != 2*maxEvents-1 {
			t.Error("the log gave its own memory away")
		}
	}
}

// The recorder and the reader run on two goroutines, for the race detector.
func TestHistoryIsReadWhileItIsWritten(t *testing.T) {
	h := New()
	id := snapshot.RowID{GPUUUID: "GPU-0"}
	written := make(chan struct{})
	go func() {
		defer close(written)
		for i := range 1000 {
			now := start.Add(time.Duration(i) * time.Second)
			h.Record(now, &snapshot.Snapshot{Sequence: uint64(i), Time: now, Rows: []snapshot.Process{{ID: id, Used: quantity.From(quantity.Bytes(i), quantity.Driver)}}})
			h.Append(snapshot.Event{Time: now})
		}
	}()
	for done := false; !done; {
		select {
		case <-written:
			done = true
		default:
		}
		_, newest := h.Span()
		if then, ok := h.At(newest); ok && (len(then.Rows) != 1 || then.Rows[0].Used.Or(-1) < 0) {
			t.Fatalf("half a tick: %v", then.Rows)
		}
		h.Series(snapshot.SeriesKey{Row: id}, start, newest, 10)
		h.Events(10)
	}
}

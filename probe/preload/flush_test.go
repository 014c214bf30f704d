//go:build linux

package preload_test

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/quantity"
	"vramscope/probe"
)

// idleProgram is a scenario with large idle pools.
const idleProgram = "idle-pools"

func reserved(all []driverStats) (sum int64) {
	for _, b := range all {
		sum += b.poolsReserved
	}
	return sum
}

// TestFlushFreesIdlePools compares the answers with the fake driver's stats.
func TestFlushFreesIdlePools(t *testing.T) {
	r := newBox(t).start(true, program(t, "proc2"), "proc2", idleProgram)
	before := reserved(r.driverStats())
	var dry, part, whole probe.FlushResult
	r.ask(`{"id":1,"cmd":"flush","level":"gradual","dry_run":true}`, &dry)
	if int64(freed(dry)) < 300<<20 || reserved(r.again()) != before || len(dry.Notes) == 0 {
		t.Errorf("dry run %+v; reserved %d bytes before, %d after", dry, before, reserved(r.driverStats()))
	}
	const keep = 128 * quantity.MiB
	// The flush synchronises, so it also frees what the program freed last.
	r.ask(fmt.Sprintf(`{"id":2,"cmd":"flush","level":"gradual","keep_bytes":%d}`, keep), &part)
	if left := reserved(r.again()); before-left != int64(freed(part)) || freed(part) <= freed(dry)-keep || part.SkippedReason != "" {
		t.Errorf("keep_bytes %d: %+v; the driver's reserved bytes went from %d to %d", keep, part, before, left)
	}
	r.ask(`{"id":3,"cmd":"flush","level":"urgent"}`, &whole)
	if left := reserved(r.again()); before-left != int64(freed(part)+freed(whole)) || freed(part)+freed(whole) < freed(dry)-64*quantity.MiB {
		t.Errorf("full flush: %+v; the driver's reserved bytes are %d", whole, left)
	}
	for _, a := range allocators(r.report(), "cuda_pool") {
		if !a.Fragmented.Known() || a.Returnable.Or(0) != 0 || a.Fragmented.Or(0)+a.Allocated.Or(0) != a.Reserved.Or(0) {
			t.Errorf("pool after the flush: %+v", a)
		}
	}
	checkStats(t, r)
	r.end()
}

func TestNoFlushDuringCapture(t *testing.T) {
	r := newBox(t).start(true, program(t, "proc2"), "proc2", "capturing")
	var result probe.FlushResult
	r.ask(`{"id":1,"cmd":"flush","level":"urgent"}`, &result)
	if !strings.Contains(result.SkippedReason, "capture") || freed(result) != 0 {
		t.Errorf("flush during a capture: %+v", result)
	}
	checkStats(t, r)
	r.end()
}

// TestOutOfMemoryIsCounted: an error counts for the allocator in which it happened.
func TestOutOfMemoryIsCounted(t *testing.T) {
	for scenario, kind := range map[string]string{"linear": "raw", "virtual": "raw", "pooled": "cuda_pool"} {
		r := newBox(t).start(true, program(t, "dlsym"), "dlsym", scenario)
		var counted int64
		for _, a := range allocators(r.report(), kind) {
			counted += a.OutOfMemoryCount.Or(0)
			if a.FailedAllocations.Or(0) != a.OutOfMemoryCount.Or(0) {
				t.Errorf("%d failed allocations, %d errors: no library is in between", a.FailedAllocations.Or(0), a.OutOfMemoryCount.Or(0))
			}
		}
		if counted != 1 {
			t.Errorf("%s: %d out-of-memory errors counted, want 1", scenario, counted)
		}
		failed := refused(r.report())
		if len(failed) != 1 || failed[0].Bytes < quantity.GiB || !strings.HasPrefix(failed[0].API, "cuMem") ||
			!strings.HasPrefix(failed[0].Library, "program") || time.Since(time.Unix(0, failed[0].TimeNS)).Abs() > time.Minute {
			t.Errorf("%s: failed: %+v", scenario, failed)
		}
		r.end()
	}
}

func refused(r probe.Report) (failed []probe.FailedAllocation) {
	for _, d := range r.Devices {
		failed = append(failed, d.OutOfMemory...)
	}
	return failed
}

// TestLargestAllocations checks the library, the age and the call of each.
func TestLargestAllocations(t *testing.T) {
	r := newBox(t).start(true, program(t, "linked"), "linked", "linear")
	for _, a := range allocators(r.report(), "raw") {
		if a.Blocks.Or(0) == 0 {
			continue
		}
		sorted := slices.IsSortedFunc(a.Largest, func(a, b probe.Allocation) int { return int(b.Bytes - a.Bytes) })
		if len(a.Largest) != 8 || !sorted || a.Largest[0].Bytes < 16*quantity.MiB {
			t.Errorf("largest: %+v", a.Largest)
		}
		for _, l := range a.Largest {
			if l.API != "cuMemAlloc" && l.API != "cuMemAllocPitch" || !strings.HasPrefix(l.Library, "linkedprogram") || l.AgeSeconds.Or(601) > 600 {
				t.Errorf("one of the largest: %+v", l)
			}
		}
	}
	r.end()
}

// TestExitWhileServing: requests in flight do not change the program's exit.
func TestExitWhileServing(t *testing.T) {
	for range 20 {
		r := newBox(t).start(true, program(t, "dlsym"), "dlsym", "linear")
		socket := r.socket()
		var monitors sync.WaitGroup
		var asking sync.WaitGroup
		for range 4 {
			monitors.Add(1)
			asking.Add(1)
			go func() {
				defer monitors.Done()
				begun := sync.OnceFunc(asking.Done)
				defer begun() // also if there is no answer
				conn, err := net.Dial("unix", socket)
				if err != nil {
					return
				}
				defer func() { _ = conn.Close() }() // the other end has closed it
				answer := make([]byte, 64<<10)
				for i := 0; err == nil; i++ {
					if _, err = conn.Write([]byte(`{"id":1,"cmd":"stats"}` + "\n")); err == nil {
						_, err = conn.Read(answer)
					}
					if i == 3 {
						begun()
					}
				}
			}()
		}
		asking.Wait()
		r.end()
		monitors.Wait()
		if exists(socket) {
			t.Errorf("%s remains", socket)
		}
	}
}

// TestHangingFlush: while a flush hangs in the driver, other flushes are refused as busy, stats are
// answered, and the program exits as without the library.
func TestHangingFlush(t *testing.T) {
	b := newBox(t)
	r := b.start(true, program(t, "proc2"), "proc2", idleProgram)
	state := fakedriver.Box(4, 0)
	state.GPUs[0].Hang("cuCtxSynchronize", time.Hour)
	state.MustWrite(t, b.state)
	conn, err := net.Dial("unix", r.socket())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // it gets no answer
	if _, err := io.WriteString(conn, `{"id":1,"cmd":"flush","level":"urgent"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	var second struct {
		OK    bool
		Error struct{ Code string }
	}
	await(t, "the first flush to run", func() bool {
		second.OK, second.Error.Code = false, ""
		r.ask(`{"id":2,"cmd":"flush","level":"gradual","dry_run":true}`, &second)
		return !second.OK
	})
	if second.Error.Code != "busy" {
		t.Errorf("second flush: %+v", second)
	}
	checkStats(t, r)
	r.end()
}

// freed returns what a flush freed on all devices.
func freed(result probe.FlushResult) quantity.Bytes {
	var sum quantity.Bytes
	for _, d := range result.Devices {
		sum += d.FreedBytes
	}
	return sum
}

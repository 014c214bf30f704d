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

// idleProgram has pools with much that is idle.
const idleProgram = "idle-pools"

func reserved(all []books) (sum int64) {
	for _, b := range all {
		sum += b.poolsReserved
	}
	return sum
}

// TestFlushGivesBackWhatPoolsHaveIdle: by the driver's own books.
func TestFlushGivesBackWhatPoolsHaveIdle(t *testing.T) {
	r := newBox(t).start(true, program(t, "proc2"), "proc2", idleProgram)
	before := reserved(r.books())
	var dry, part, whole probe.FlushResult
	r.ask(`{"id":1,"cmd":"flush","level":"gradual","dry_run":true}`, &dry)
	if freed := dry.Freed(); int64(freed) < 300<<20 || reserved(r.again()) != before || len(dry.Notes) == 0 {
		t.Errorf("a dry run says %+v; reserved were %d bytes and are %d", dry, before, reserved(r.books()))
	}
	const keep = 128 * quantity.MiB
	// What the program has freed and the GPU not yet done with is waited for, and goes, too.
	r.ask(fmt.Sprintf(`{"id":2,"cmd":"flush","level":"gradual","keep_bytes":%d}`, keep), &part)
	if left := reserved(r.again()); before-left != int64(part.Freed()) || part.Freed() <= dry.Freed()-keep || part.SkippedReason != "" {
		t.Errorf("with %d kept it says %+v; the driver's books went from %d to %d", keep, part, before, left)
	}
	r.ask(`{"id":3,"cmd":"flush","level":"urgent"}`, &whole)
	if left := reserved(r.again()); before-left != int64(part.Freed()+whole.Freed()) || part.Freed()+whole.Freed() < dry.Freed()-64*quantity.MiB {
		t.Errorf("the rest: %+v; the driver's books are at %d", whole, left)
	}
	for _, a := range allocators(r.report(), "cuda_pool") {
		if a.FragmentedBytes == nil || *a.ReturnableBytes != 0 || *a.FragmentedBytes+*a.AllocatedBytes != *a.ReservedBytes {
			t.Errorf("after it a pool says %+v", a)
		}
	}
	checkBooks(t, r)
	r.end()
}

// TestFlushLeavesCapturesAlone: the capture goes on, and ends well.
func TestFlushLeavesCapturesAlone(t *testing.T) {
	r := newBox(t).start(true, program(t, "proc2"), "proc2", "capturing")
	var result probe.FlushResult
	r.ask(`{"id":1,"cmd":"flush","level":"urgent"}`, &result)
	if !strings.Contains(result.SkippedReason, "capture") || result.Freed() != 0 {
		t.Errorf("during a capture it says %+v", result)
	}
	checkBooks(t, r)
	r.end()
}

// TestOutOfMemoryIsCounted, where it happened.
func TestOutOfMemoryIsCounted(t *testing.T) {
	for scenario, kind := range map[string]string{"linear": "raw", "virtual": "raw", "pooled": "cuda_pool"} {
		r := newBox(t).start(true, program(t, "dlsym"), "dlsym", scenario)
		var counted int64
		for _, a := range allocators(r.report(), kind) {
			counted += *a.OutOfMemoryCount
		}
		if counted != 1 {
			t.Errorf("%s: %d are counted, one allocation did not fit", scenario, counted)
		}
		r.end()
	}
}

// TestTheLargestAreTold: by whom, since when, by which call.
func TestTheLargestAreTold(t *testing.T) {
	r := newBox(t).start(true, program(t, "linked"), "linked", "linear")
	for _, a := range allocators(r.report(), "raw") {
		if *a.Blocks == 0 {
			continue
		}
		sorted := slices.IsSortedFunc(a.Largest, func(a, b probe.Allocation) int { return int(b.Bytes - a.Bytes) })
		if len(a.Largest) != 8 || !sorted || a.Largest[0].Bytes < 16*quantity.MiB {
			t.Errorf("the largest are %+v", a.Largest)
		}
		for _, l := range a.Largest {
			if l.API != "cuMemAlloc" && l.API != "cuMemAllocPitch" || !strings.HasPrefix(l.Library, "linkedprogram") || l.AgeSeconds == nil || *l.AgeSeconds > 600 {
				t.Errorf("one of them is %+v", l)
			}
		}
	}
	r.end()
}

// TestExitWhileServing: whoever asks meanwhile, the program ends as it would.
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
				defer begun() // also where nobody answers
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
			t.Errorf("%s is still there", socket)
		}
	}
}

// TestAFlushThatHangs: in the driver. Others are told that there is one, books
// are read all the same, and the program ends as it would.
func TestAFlushThatHangs(t *testing.T) {
	b := newBox(t)
	r := b.start(true, program(t, "proc2"), "proc2", idleProgram)
	state := fakedriver.Box(4, 0)
	state.GPUs[0].Hang("cuCtxSynchronize", time.Hour)
	state.MustWrite(t, b.state)
	conn, err := net.Dial("unix", r.socket())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // nothing is expected on it
	if _, err := io.WriteString(conn, `{"id":1,"cmd":"flush","level":"urgent"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	var second struct {
		OK    bool
		Error struct{ Code string }
	}
	await(t, "the first flush to be under way", func() bool {
		second.OK, second.Error.Code = false, ""
		r.ask(`{"id":2,"cmd":"flush","level":"gradual","dry_run":true}`, &second)
		return !second.OK
	})
	if second.Error.Code != "busy" {
		t.Errorf("a second flush is answered %+v", second)
	}
	checkBooks(t, r)
	r.end()
}

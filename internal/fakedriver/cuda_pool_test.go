package fakedriver_test

import (
	"fmt"
	"testing"

	"vramscope/internal/fakedriver"
)

// poolInfo returns the answer for a pool with these attributes, in bytes.
func poolInfo(reserved, reservedHigh, used, usedHigh uint64) string {
	return fmt.Sprintf("0 %d %d %d %d", reserved, reservedHigh, used, usedHigh)
}

func TestPoolReservesReusesAndTrims(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 0)
	view, program := startBoth(t, box)
	holds := holding(view, box.GPUs[0], program, contextBytes)
	program.device(0).script(
		"defaultpool 0 0", success,
		fmt.Sprintf("threshold 0 %d", uint64(1)<<63), success,
		"poolinfo 0", poolInfo(0, 0, 0, 0),
		"stream 3 1", success,
		"stream 4 1", success,
	)
	program.script("async 0 1 3", success, "poolinfo 0", poolInfo(32*mib, 32*mib, 512, 512))
	holds(32 * mib)
	program.script(
		fmt.Sprintf("async 1 %d 3", 31*mib), success, // in the same chunk as the first
		"poolinfo 0", poolInfo(32*mib, 32*mib, 31*mib+512, 31*mib+512),
		fmt.Sprintf("async 2 %d 3", 40*mib), success, // a chunk of its own, of 64 MiB
		"poolinfo 0", poolInfo(96*mib, 96*mib, 71*mib+512, 71*mib+512),
	)
	holds(96 * mib)

	// Freed memory counts as used until a wait for its stream, or the next allocation on its stream.
	program.script(
		"freeasync 1 3", success,
		"poolinfo 0", poolInfo(96*mib, 96*mib, 71*mib+512, 71*mib+512),
		"trim 0 0", success, // no chunk is wholly free
		"poolinfo 0", poolInfo(96*mib, 96*mib, 71*mib+512, 71*mib+512),
		"sync 4", success, // another stream
		"poolinfo 0", poolInfo(96*mib, 96*mib, 71*mib+512, 71*mib+512),
		fmt.Sprintf("async 1 %d 3", 16*mib), success, // its own stream reuses what was freed
		"poolinfo 0", poolInfo(96*mib, 96*mib, 56*mib+512, 71*mib+512),
		"freeasync 1 3", success,
		"sync 3", success,
		"poolinfo 0", poolInfo(96*mib, 96*mib, 40*mib+512, 71*mib+512),
		"resethigh 0", success,
		"poolinfo 0", poolInfo(96*mib, 96*mib, 40*mib+512, 40*mib+512),
	)
	// Trimming frees whole free chunks down to the size to keep.
	program.script(
		"freeasync 2 3", success,
		"sync 3", success,
		"trim 0 33554433", success, // without the large chunk too little would be left
		"poolinfo 0", poolInfo(96*mib, 96*mib, 512, 40*mib+512),
		"trim 0 33554432", success,
		"poolinfo 0", poolInfo(32*mib, 96*mib, 512, 40*mib+512),
		"trim 0 0", success, // the live allocation keeps its chunk
		"poolinfo 0", poolInfo(32*mib, 96*mib, 512, 40*mib+512),
	)
	holds(32 * mib)
	program.script(
		"free 0", success, // cuMemFree waits
		"trim 0 0", success,
		"poolinfo 0", poolInfo(0, 96*mib, 0, 40*mib+512),
		"freeasync 0 3", invalidValue, // not again
		"free 0", invalidValue,
	)
	holds(0)
}

func TestReleaseThreshold(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 0)
	view, program := startBoth(t, box)
	program.device(0).script(
		"defaultpool 0 0", success,
		fmt.Sprintf("threshold 0 %d", 64*mib), success,
	)
	for i := range 4 {
		program.want(fmt.Sprintf("async %d %d", i, 32*mib), success)
	}
	for i := range 4 {
		program.want(fmt.Sprintf("freeasync %d", i), success)
	}
	wantHeld(view, box.GPUs[0], 0, map[int]uint64{program.pid(): contextBytes + 128*mib})
	program.want("ctxsync", success)
	wantHeld(view, box.GPUs[0], 0, map[int]uint64{program.pid(): contextBytes + 64*mib})
	program.script("threshold 0 0", success, "ctxsync", success)
	wantHeld(view, box.GPUs[0], 0, map[int]uint64{program.pid(): contextBytes})
	// A query of a stream does not wait for it.
	program.script(
		"async 0 1000", success,
		"freeasync 0", success,
		"query 0", success,
		"poolinfo 0", poolInfo(32*mib, 128*mib, 0, 128*mib),
		"sync 0", success,
		"poolinfo 0", poolInfo(0, 128*mib, 0, 128*mib),
	)
}

func TestPoolsOfAProgramsOwn(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(2, 0)
	view, program := startBoth(t, box)
	program.device(0).script(
		"pool 1 0 1", success, // on GPU 1
		"setpool 1 0", invalidValue, // the pool is not GPU 0's
		"frompool 0 1000 1", success,
		fmt.Sprintf("pool 2 %d 0", 40*mib), success, // a pool of 40 MiB at most
		"setpool 2 0", success,
		fmt.Sprintf("async 1 %d", 30*mib), success,
		fmt.Sprintf("async 2 %d", 8*mib), success,
		fmt.Sprintf("async 3 %d", 8*mib), outOfMemory,
		"poolinfo 2", poolInfo(40*mib, 40*mib, 38*mib, 38*mib),
	)
	wantHeld(view, box.GPUs[0], 0, map[int]uint64{program.pid(): contextBytes + 40*mib})
	wantHeld(view, box.GPUs[1], 1, map[int]uint64{program.pid(): 32 * mib}) // there is no context on GPU 1
	program.script(
		"destroypool 2", success,
		"poolinfo 2", "1 0 0 0 0", // the pool's handle is invalid …
		"frompool 4 1000 2", invalidValue,
		"memset 1 31457280", success, // … and its allocations are still there
		"freeasync 1", success,
		"freeasync 2", success,
		"defaultpool 0 0", success,
		"destroypool 0", invalidValue,
		"async 1 1000", success, // the default pool is the current one again
		"poolinfo 0", poolInfo(32*mib, 32*mib, 1024, 1024),
	)
	wantHeld(view, box.GPUs[0], 0, map[int]uint64{program.pid(): contextBytes + 32*mib})
}

// The _ptsz calls use the default stream of the thread. Waiting for that stream does not wait for
// the legacy stream.
func TestPerThreadDefaultStream(t *testing.T) {
	t.Parallel()
	_, program := startBoth(t, fakedriver.Box(1, 0))
	program.device(0).script(
		"defaultpool 0 0", success,
		"threshold 0 1000000000", success,
		"async_ptsz 0 1000", success,
		"async_ptsz 1 2000", success,
		"freeasync 0 0", success, // on the legacy stream
		"sync_ptsz 0", success,
		"poolinfo 0", poolInfo(32*mib, 32*mib, 3072, 3072),
		"freeasync 1 2", success, // CU_STREAM_PER_THREAD names the same stream
		"sync_ptsz 0", success,
		"poolinfo 0", poolInfo(32*mib, 32*mib, 1024, 3072),
		"sync 1", success, // CU_STREAM_LEGACY
		"poolinfo 0", poolInfo(32*mib, 32*mib, 0, 3072),
	)
}

func TestCapture(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 0)
	view, program := startBoth(t, box)
	program.device(0).script(
		"stream 3 0", success,
		"capture 0 0", captureUnsupported, // the default stream cannot be captured
		"capture 3 0", success,
		"capturing 3", "0 1",
		"async 0 1000 3", success,
		"graphinfo 0", fmt.Sprintf("0 %d 1024", 32*mib),
		"async 1 1000 0", captureImplicit, // the legacy stream waits for the captured one
		"freeasync 0 3", success,
		"async 0 2000 3", success,
		"endcapture 3", success,
		"capturing 3", "0 0",
		"graphinfo 0", fmt.Sprintf("0 %d 2048", 32*mib),
		"ctxsync", success, // leaves graphs' memory alone
		"graphtrim 0", success,
		"graphinfo 0", fmt.Sprintf("0 %d 2048", 32*mib),
	)
	wantHeld(view, box.GPUs[0], 0, map[int]uint64{program.pid(): contextBytes + 32*mib})
	program.script("destroygraph 0", success, "graphtrim 0", success, "graphinfo 0", "0 0 0")
	wantHeld(view, box.GPUs[0], 0, map[int]uint64{program.pid(): contextBytes})

	// A call that might disturb a capture is refused and invalidates the capture.
	for _, disturb := range []string{"alloc 5 1000", "sync 3", "ctxsync"} {
		program.script(
			"capture 3 0", success,
			disturb, captureUnsupported,
			"capturing 3", "0 2",
			"async 0 1000 3", captureInvalidated,
			"endcapture 3", captureInvalidated,
		)
	}
	program.script("capture 3 2", success, "alloc 5 1000", success, "endcapture 3", success) // a relaxed capture forbids nothing
}

// Memory that a graph allocates and does not free lives as long as the graph and its executable
// graphs. Once the graph has been launched, the program must free that memory.
func TestMemoryOfAGraph(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 0)
	view, program := startBoth(t, box)
	held, trimmed := fmt.Sprintf("0 %d 1024", 32*mib), "0 0 0"
	capture := []string{"capture 3 0", success, "async 0 1000 3", success, "endcapture 3", success, "instantiate 0", success}
	program.device(0).script("stream 3 0", success)
	program.script(capture...)
	program.script(
		"destroygraph 0", success,
		"destroygraph 0", invalidValue,
		"graphtrim 0", success, "graphinfo 0", held,
		"destroyexec 0", success, // never launched, so the program never had the memory
		"destroyexec 0", invalidValue,
		"launch 3", invalidValue,
		"graphtrim 0", success, "graphinfo 0", trimmed,
	)
	program.script(capture...)
	program.script(
		"launch 3", success,
		"destroygraph 0", success,
		"destroyexec 0", success,
		"graphtrim 0", success, "graphinfo 0", held,
		"freeasync 0 3", success,
		"graphtrim 0", success, "graphinfo 0", trimmed,
	)
	wantHeld(view, box.GPUs[0], 0, map[int]uint64{program.pid(): contextBytes})
}

func TestRandomWorkKeepsAllocationsApart(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 0)
	box.GPUs[0].Free, box.GPUs[0].Total = 3*gib, 3*gib+box.GPUs[0].Reserved // so small that it fills up now and then
	view, program := startBoth(t, box)
	program.device(0).script(
		"soak 1 100000 1", success,
		"soak 8 20000 2", success,
		"ctxsync", success,
	)
	// All allocations were freed, so only the context is left.
	wantHeld(view, box.GPUs[0], 0, map[int]uint64{program.pid(): contextBytes})
}

// A stream has a context, so threads without a context can allocate and free on the stream. The
// default streams have none.
func TestPoolsWithoutACurrentContext(t *testing.T) {
	t.Parallel()
	_, program := startBoth(t, fakedriver.Box(2, 0))
	program.device(1).script(
		"defaultpool 0 1", success, "stream 3 1", success, "async 0 4096 3", success, "leave 0", success,
		"async 1 4096 3", success, "poolinfo 0", poolInfo(32*mib, 32*mib, 8192, 8192),
		"async 2 4096 0", invalidContext, "freeasync 0 0", invalidContext, "freeasync_ptsz 0 0", invalidContext,
		"freeasync 0 3", success, "freeasync 1 3", success, "freeasync 1 3", invalidValue,
		"use 1", success, "sync 3", success, "trim 0 0", success, "poolinfo 0", poolInfo(0, 32*mib, 0, 8192),
	)
}

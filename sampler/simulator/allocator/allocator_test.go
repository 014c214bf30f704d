package allocator

import (
	"errors"
	"testing"

	"vramscope/internal/quantity"
)

const (
	kib = quantity.KiB
	mib = quantity.MiB
	gib = quantity.GiB
)

// card is a device with a given capacity.
type card struct{ capacity, used quantity.Bytes }

func (c *card) Reserve(size quantity.Bytes) bool {
	if c.used+size > c.capacity {
		return false
	}
	c.used += size
	return true
}

func (c *card) Release(size quantity.Bytes) { c.used -= size }

func allocate(t *testing.T, c *Caching, size quantity.Bytes) *Block {
	t.Helper()
	b, err := c.Allocate(size)
	if err != nil {
		t.Fatalf("allocate %d: %v", size, err)
	}
	return b
}

func TestSegmentSizesAreThoseOfPyTorch(t *testing.T) {
	for _, tc := range []struct{ ask, block, segment quantity.Bytes }{
		{0, 512, 2 * mib},
		{1, 512, 2 * mib},
		{513, 1024, 2 * mib},
		{mib, mib, 2 * mib},
		{mib + 1, mib + 512, 20 * mib},
		{10*mib - 512, 10*mib - 512, 20 * mib},
		{10 * mib, 10 * mib, 10 * mib},
		{11 * mib, 12 * mib, 12 * mib},       // the rest of 1 MiB is too small to be split off
		{12*mib + 1, 12*mib + 512, 14 * mib}, // the rest is more than 1 MiB
		{701*mib + 512*kib, 702 * mib, 702 * mib},
	} {
		device := &card{capacity: gib}
		c := NewCaching(device)
		b := allocate(t, c, tc.ask)
		if b.Size() != tc.block || device.used != tc.segment {
			t.Errorf("ask %d: block %d in a segment of %d, want %d in %d", tc.ask, b.Size(), device.used, tc.block, tc.segment)
		}
	}
}

func TestSmallestFittingBlockIsTaken(t *testing.T) {
	c := NewCaching(&card{capacity: gib})
	large, medium, small := allocate(t, c, 300*mib), allocate(t, c, 200*mib), allocate(t, c, 100*mib)
	c.Free(large)
	c.Free(medium)
	c.Free(small)
	b := allocate(t, c, 150*mib)
	if s := c.Stats(); s.Fragmented != 50*mib || s.Cached != 400*mib || s.Reserved != 600*mib {
		t.Errorf("150 MiB should have been cut out of the 200 MiB segment: %+v", s)
	}
	c.Free(b)
	if s := c.Stats(); s.Fragmented != 0 || s.Cached != 600*mib || s.LargestFree != 300*mib {
		t.Errorf("the halves should have merged again: %+v", s)
	}
}

func TestFlushFreesTheWholeFreeSegments(t *testing.T) {
	device := &card{capacity: gib}
	c := NewCaching(device)
	kept, freed := allocate(t, c, 100*mib), allocate(t, c, 200*mib)
	c.Free(freed)
	beside := allocate(t, c, 40*mib) // goes into the 200 MiB segment
	whole := allocate(t, c, 300*mib)
	c.Free(whole)
	want := c.Stats().Returnable
	before := device.used
	if got := c.Flush(); got != want || got != 300*mib || before-device.used != got {
		t.Errorf("flush freed %d, returnable was %d, the device freed %d", got, want, before-device.used)
	}
	if s := c.Stats(); s.Reserved != 300*mib || s.Fragmented != 160*mib || s.Returnable != 0 || s.Segments != 2 {
		t.Errorf("after the flush: %+v", s)
	}
	c.Free(kept)
	c.Free(beside)
	if c.Flush(); device.used != 0 {
		t.Errorf("%d bytes are still reserved", device.used)
	}
}

func TestFullDeviceIsAskedAgainAfterAFlush(t *testing.T) {
	device := &card{capacity: 500 * mib}
	c := NewCaching(device)
	c.Free(allocate(t, c, 400*mib))
	held := allocate(t, c, 450*mib)
	if s := c.Stats(); s.Retries != 1 || s.OutOfMemory != 0 || s.Reserved != 450*mib {
		t.Errorf("the cache should have made room: %+v", s)
	}
	if _, err := c.Allocate(100 * mib); !errors.Is(err, ErrOutOfMemory) {
		t.Errorf("got %v, want out of memory", err)
	}
	if s := c.Stats(); s.Retries != 2 || s.OutOfMemory != 1 || s.Allocated != held.Size() {
		t.Errorf("after running out of memory: %+v", s)
	}
}

func TestPendingBlocksStayAllocatedUntilTheirStreamIsDone(t *testing.T) {
	c := NewCaching(&card{capacity: gib})
	c.FreeLater(allocate(t, c, 64*mib))
	if s := c.Stats(); s.Pending != 64*mib || s.Allocated != 64*mib || s.Returnable != 0 {
		t.Errorf("while pending: %+v", s)
	}
	if freed := c.Flush(); freed != 64*mib {
		t.Errorf("a flush waits for pending blocks, but gave %d", freed)
	}
	if s := c.Stats(); s != (Stats{PeakAllocated: 64 * mib, PeakReserved: 64 * mib}) {
		t.Errorf("nothing should be left: %+v", s)
	}
}

func TestFreeingTwiceIsAnErrorOfTheCaller(t *testing.T) {
	c := NewCaching(&card{capacity: gib})
	b := allocate(t, c, mib)
	c.Free(b)
	defer func() {
		if recover() == nil {
			t.Error("the second Free went unnoticed")
		}
	}()
	c.Free(b)
}

package allocator

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"vramscope/internal/quantity"
	"vramscope/probe"
)

// audit compares the stats with the segments.
func audit(t *testing.T, a *Caching, device *card, held map[*Block]struct{}) {
	t.Helper()
	var segments, free, whole, largest, live quantity.Bytes
	fragmented := 0
	for b := range held {
		live += b.Size()
	}
	for _, segment := range a.Segments() {
		segments += segment.Size
		holes := false
		for i, block := range segment.Blocks {
			if block.Size <= 0 {
				t.Fatalf("a block of %d bytes", block.Size)
			}
			if !isFree(block) {
				continue
			}
			if i > 0 && isFree(segment.Blocks[i-1]) {
				t.Fatal("two free blocks lie side by side")
			}
			free += block.Size
			largest = max(largest, block.Size)
			if len(segment.Blocks) == 1 {
				whole += block.Size
			} else {
				holes = true
			}
		}
		if holes {
			fragmented++
		}
	}
	s := a.Stats()
	if s.Reserved != segments || s.Reserved != device.used {
		t.Fatalf("reserved %d, segments %d, device %d", s.Reserved, segments, device.used)
	}
	if s.Allocated != live || s.Reserved != s.Allocated+free || s.LargestFree != largest {
		t.Fatalf("%+v, but %d live, %d free, largest %d", s, live, free, largest)
	}
	if s.Reserved != s.Allocated+s.Cached+s.Fragmented || s.Cached < 0 || s.Fragmented < 0 {
		t.Fatalf("the parts do not add up: %+v", s)
	}
	if s.Blocks != len(held) || s.PeakAllocated < s.Allocated || s.PeakReserved < s.Reserved {
		t.Fatalf("%+v, but %d blocks are held", s, len(held))
	}
	if s.Cached != whole || s.Returnable != whole || s.Stranded != fragmented {
		t.Fatalf("%+v, but %d in whole free segments, and %d segments with holes", s, whole, fragmented)
	}
	sum := Pool{
		s.Small.Reserved + s.Large.Reserved, s.Small.Allocated + s.Large.Allocated,
		s.Small.Fragmented + s.Large.Fragmented, s.Small.Segments + s.Large.Segments,
	}
	if sum != (Pool{s.Reserved, s.Allocated, s.Fragmented, s.Segments}) {
		t.Fatalf("the pools do not add up: %+v", s)
	}
}

func isFree(b probe.Block) bool {
	return b.State == probe.BlockCached || b.State == probe.BlockFragmented
}

// play runs a script of four-byte operations. Each names an action, and the size or the block for it.
func play(t *testing.T, a *Caching, device *card, script []byte) {
	held := map[*Block]struct{}{}
	var order []*Block
	for ; len(script) >= 4; script = script[4:] {
		what, number := script[0], int(script[1])|int(binary.LittleEndian.Uint16(script[2:]))<<8
		switch {
		case what < 130:
			size := quantity.Bytes(number) << 9 >> (what % 24) // up to 8 GiB, large and small sizes alike
			b, err := a.Allocate(size)
			if err != nil {
				if s := a.Stats(); s.Returnable != 0 {
					t.Fatalf("out of memory with %d bytes that a flush would return", s.Returnable)
				}
				continue
			}
			if b.Size() < size {
				t.Fatalf("asked for %d, got %d", size, b.Size())
			}
			held[b] = struct{}{}
			order = append(order, b)
		case what < 250 && len(order) > 0:
			i := number % len(order)
			a.Free(order[i])
			delete(held, order[i])
			order[i] = order[len(order)-1]
			order = order[:len(order)-1]
		case what >= 250:
			want, before := a.Stats().Returnable, device.used
			if freed := a.Flush(); freed != want || before-device.used != freed {
				t.Fatalf("flush gave %d, returnable was %d, the device got %d", freed, want, before-device.used)
			}
		}
		audit(t, a, device, held)
	}
	for _, b := range order {
		a.Free(b)
	}
	s := a.Stats()
	if s.Allocated != 0 || s.Fragmented != 0 {
		t.Fatalf("everything is free, but %+v", s)
	}
	if a.Flush(); device.used != 0 {
		t.Fatalf("%d bytes leaked", device.used)
	}
}

func FuzzCaching(f *testing.F) {
	f.Add([]byte{9, 255, 255, 3, 200, 0, 0, 0, 255, 0, 0, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		device := &card{capacity: 4 * gib}
		play(t, NewCaching(device), device, script)
	})
}

func TestStatsAddUpOverRandomHistories(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 1))
		script := make([]byte, 4*1500)
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		device := &card{capacity: 6 * gib}
		play(t, NewCaching(device), device, script)
	}
}

func BenchmarkCachingAllocateFree(b *testing.B) {
	c := NewCaching(&card{capacity: 80 * gib})
	var held []*Block
	for i := range 600 {
		block, err := c.Allocate(quantity.Bytes(1+i%97) * mib)
		if err != nil {
			b.Fatal(err)
		}
		held = append(held, block)
	}
	for i := 0; i < len(held); i += 2 {
		c.Free(held[i])
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		block, err := c.Allocate(quantity.Bytes(1+i%64) * mib)
		if err != nil {
			b.Fatal(err)
		}
		c.Free(block)
	}
}

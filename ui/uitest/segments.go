package uitest

import (
	"math/rand/v2"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// CarolsSegments returns a map of carol's process. As with PyTorch's native allocator, segments of small blocks have
// 2 MiB, those of medium blocks 20 MiB, and those of large blocks more.
func CarolsSegments() snapshot.SegmentMap {
	random := rand.New(rand.NewPCG(1, 2))
	m := snapshot.SegmentMap{Time: DrawnAt}
	address := uint64(0x7f0000000000)
	add := func(blocks ...snapshot.Block) {
		var size quantity.Bytes
		for _, b := range blocks {
			size += b.Size
		}
		m.Segments = append(m.Segments, snapshot.Segment{Address: address, Size: size, Blocks: blocks})
		address += uint64(size)
	}
	block := func(state snapshot.BlockState, mib int) snapshot.Block {
		return snapshot.Block{Size: quantity.Bytes(mib) * quantity.MiB, State: state}
	}
	const live, pending, cached, fragmented = snapshot.BlockLive, snapshot.BlockPending, snapshot.BlockCached, snapshot.BlockFragmented
	for range 340 {
		add(block(live, 2))
	}
	for range 60 {
		add(snapshot.Block{Size: 256 * quantity.KiB, State: live}, snapshot.Block{Size: 1792 * quantity.KiB, State: fragmented})
	}
	for range 130 {
		add(block(live, 20))
	}
	for range 110 {
		n := 2 + random.IntN(16)
		add(block(fragmented, n/2), block(live, 20-n), block(fragmented, n-n/2))
	}
	for range 30 {
		add(block(cached, 20))
	}
	for i := range 89 {
		add(block(live, 192+64*(i%12)-i%3*30))
	}
	add(block(pending, 215))
	for range 6 {
		add(block(fragmented, 200+random.IntN(80)), block(live, 16), block(fragmented, 60))
	}
	for i := range 36 {
		add(block(live, 150+i), block(fragmented, 20+i))
	}
	for i := range 10 {
		add(block(cached, 512+128*i))
	}
	return m
}

// ExpandableSegments returns the map of a process with an expandable and a private segment.
func ExpandableSegments() snapshot.SegmentMap {
	const gib = quantity.GiB
	return snapshot.SegmentMap{Time: DrawnAt.Add(-75 * time.Second), Left: 7, Segments: []snapshot.Segment{
		{Size: 40 * gib, Expandable: true, Blocks: []snapshot.Block{
			{Size: 20 * gib, State: snapshot.BlockLive}, {Size: 6 * gib, State: snapshot.BlockCached}, {Size: 10 * gib, State: snapshot.BlockLive},
			{Size: gib, State: snapshot.BlockFragmented}, {Size: 3 * gib, State: snapshot.BlockLive},
		}},
		{Size: 12 * gib, Private: true, Blocks: []snapshot.Block{
			{Size: 9 * gib, State: snapshot.BlockLive}, {Size: 3 * gib, State: snapshot.BlockFragmented},
		}},
	}}
}

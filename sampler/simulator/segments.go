package simulator

import (
	"fmt"

	"vramscope/internal/process"
	"vramscope/probe"
	"vramscope/sampler/simulator/allocator"
)

// Segments is the map of a process's memory, as its probe would report it: of
// PyTorch only.
func (b *Box) Segments(id process.Identity) (probe.Segments, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, err := b.find(id)
	if err != nil {
		return probe.Segments{}, fmt.Errorf("simulator: segments: %w", err)
	}
	if t.cache == nil || t.role.runtime != pytorch {
		return probe.Segments{}, &probe.Error{Code: probe.Unsupported, Message: "only PyTorch reports its segments"}
	}
	device := probe.DeviceSegments{UUID: t.uuid()}
	for _, s := range t.cache.Segments() {
		device.Segments = append(device.Segments, segmentOf(&s))
	}
	return probe.Segments{
		Schema: probe.SegmentsSchema, TimeNS: b.epoch.Add(b.at).UnixNano(), Devices: []probe.DeviceSegments{device},
	}, nil
}

// segmentOf is a segment in the form of the protocol.
func segmentOf(s *allocator.Segment) probe.Segment {
	out := probe.Segment{Address: s.Address, Size: s.Size, Pool: "large", Blocks: make([]probe.Block, len(s.Pieces))}
	if s.Small {
		out.Pool = "small"
	}
	for i, piece := range s.Pieces {
		state := probe.BlockLive
		switch {
		case piece.Pending:
			state = probe.BlockPending
		case piece.Free && len(s.Pieces) == 1:
			state = probe.BlockCached
		case piece.Free:
			state = probe.BlockFragmented
		}
		out.Blocks[i] = probe.Block{Size: piece.Size, State: state}
	}
	return out
}

// uuid is that of the GPU or MIG instance that the task is on.
func (t *task) uuid() string {
	if t.instance != nil {
		return t.instance.uuid
	}
	return t.board.device.UUID
}

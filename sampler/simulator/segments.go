package simulator

import (
	"fmt"

	"vramscope/internal/process"
	"vramscope/probe"
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
	device := probe.DeviceSegments{UUID: t.uuid(), Segments: t.cache.Segments()}
	return probe.Segments{
		Schema: probe.SegmentsSchema, TimeNS: b.epoch.Add(b.at).UnixNano(), Devices: []probe.DeviceSegments{device},
	}, nil
}

// uuid is that of the GPU or MIG instance that the task is on.
func (t *task) uuid() string {
	if t.instance != nil {
		return t.instance.uuid
	}
	return t.board.device.UUID
}

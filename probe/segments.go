package probe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/sampler/snapshot"
)

// SegmentsSchema is the layout of a map of segments.
const SegmentsSchema = "vramscope/segments/1"

// What one map may hold. A probe with more leaves out the smallest segments.
const (
	MaxSegments = 8 << 10
	MaxBlocks   = 128 << 10 // of all segments
	// The commas of such a map: two for a block, at most 16 for a segment.
	maxMapMembers = 2*MaxBlocks + 16*MaxSegments
)

// Segments maps the memory of a process.
type Segments struct {
	Schema  string           `json:"schema"`
	TimeNS  int64            `json:"time_ns"` // Unix time of the reading in the probe process
	Devices []DeviceSegments `json:"devices"`
}

// DeviceSegments are the segments on one GPU.
type DeviceSegments struct {
	UUID     string    `json:"uuid"`
	Segments []Segment `json:"segments"` // by address
	Left     int64     `json:"left"`     // how many segments, the smallest, were left out
}

// The parts of a map.
type (
	Segment = snapshot.Segment
	Block   = snapshot.Block
)

// The states of a block.
const (
	BlockLive       = snapshot.BlockLive
	BlockPending    = snapshot.BlockPending
	BlockCached     = snapshot.BlockCached
	BlockFragmented = snapshot.BlockFragmented
)

var (
	errTooMany   = errors.New("more segments or blocks than a map may hold")
	errMapObject = errors.New("an object is missing")
)

// UnmarshalJSON refuses anything but an object, as Segment.UnmarshalJSON does.
func (d *DeviceSegments) UnmarshalJSON(data []byte) error {
	type plain DeviceSegments
	return unmarshalObject(data, (*plain)(d))
}

func unmarshalObject(data []byte, into any) error {
	if len(data) == 0 || data[0] != '{' {
		return errMapObject
	}
	return json.Unmarshal(data, into)
}

// decodeSegments reads an untrusted map. It first counts the objects, arrays and commas in the text,
// to bound the memory that the decoded map takes.
func decodeSegments(content []byte) (Segments, error) {
	var s Segments
	switch {
	case bytes.Count(content, []byte{'{'}) > 1+maxDevices+MaxSegments,
		bytes.Count(content, []byte{'['}) > 1+maxDevices+MaxSegments+MaxBlocks,
		bytes.Count(content, []byte{','}) > maxMapMembers:
		return s, errTooMany
	}
	if err := unmarshalObject(bytes.TrimSpace(content), &s); err != nil {
		return Segments{}, err
	}
	if err := s.check(); err != nil {
		return Segments{}, err
	}
	return s, nil
}

// check returns why a map is impossible, and sorts the segments by address.
func (s *Segments) check() error {
	if s.Schema != SegmentsSchema || s.TimeNS <= 0 || len(s.Devices) > maxDevices {
		return fmt.Errorf("schema %q, time_ns %d, %d devices", clip(s.Schema), s.TimeNS, len(s.Devices))
	}
	segments, blocks := 0, 0
	for i := range s.Devices {
		d := &s.Devices[i]
		if !wellFormedUUID(d.UUID) {
			return fmt.Errorf("device %q is not a UUID in NVML's form", clip(d.UUID))
		}
		if slices.ContainsFunc(s.Devices[:i], func(other DeviceSegments) bool { return other.UUID == d.UUID }) {
			return fmt.Errorf("device %s is listed twice", d.UUID)
		}
		if d.Left < 0 || d.Left > maxCount {
			return fmt.Errorf("device %s has left out %d segments", d.UUID, d.Left)
		}
		segments += len(d.Segments)
		for j := range d.Segments {
			if err := checkSegment(&d.Segments[j]); err != nil {
				return fmt.Errorf("device %s: segment at %#x: %w", d.UUID, d.Segments[j].Address, err)
			}
			blocks += len(d.Segments[j].Blocks)
		}
		sorted.Stable(d.Segments, func(a, b Segment) int { return cmp.Compare(a.Address, b.Address) })
	}
	if segments > MaxSegments || blocks > MaxBlocks {
		return errTooMany
	}
	return nil
}

func checkSegment(s *Segment) error {
	if s.Size <= 0 || !plausible(s.Size) || s.Address+uint64(s.Size) < s.Address {
		return fmt.Errorf("size is %d bytes", s.Size)
	}
	var sum quantity.Bytes
	for _, b := range s.Blocks {
		if b.Size <= 0 || b.Size > s.Size {
			return fmt.Errorf("a block of %d bytes in %d", b.Size, s.Size)
		}
		if sum += b.Size; sum > s.Size {
			break
		}
	}
	if sum != s.Size {
		return fmt.Errorf("its blocks sum to %d of %d bytes", sum, s.Size)
	}
	s.Pool = clip(s.Pool)
	return nil
}

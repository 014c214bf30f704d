package probe

import (
	"fmt"

	"vramscope/internal/quantity"
)

// Level is how much a flush may slow the program down.
type Level string

// The levels, gentlest first.
const (
	Gradual   Level = "gradual"   // the cache down to KeepBytes
	Selective Level = "selective" // the program's evictable caches by priority, then its allocators' cache
	Urgent    Level = "urgent"    // as selective, and everything else that can be collected, on all devices
)

// FlushRequest asks a probe process to free cached memory.
//
// A gradual flush in steps is several requests with a falling KeepBytes: to stop
// it, the monitor sends no further one.
type FlushRequest struct {
	Level Level `json:"level"`
	// KeepBytes is how much of its returnable memory the process may keep on each
	// device. An allocator that can only free everything (PyTorch) does so, with
	// a note.
	KeepBytes quantity.Bytes `json:"keep_bytes"`
	DryRun    bool           `json:"dry_run"` // report what would happen, and do nothing
	// Devices limits the flush to these UUIDs; empty means all that the process
	// uses. An allocator that flushes all devices at once does so, with a note.
	Devices []string `json:"devices,omitempty"`
}

// check returns the error of an invalid request.
func (r *FlushRequest) check() *Error {
	switch r.Level {
	case Gradual, Selective, Urgent:
	default:
		return failure(BadRequest, "level is %q; it can be gradual, selective or urgent", clip(string(r.Level)))
	}
	if !plausible(r.KeepBytes) {
		return failure(BadRequest, "keep_bytes is %d", r.KeepBytes)
	}
	return checkDevices(r.Devices)
}

// FlushResult is what a flush did, as measured.
type FlushResult struct {
	Level   Level     `json:"level"`
	DryRun  bool      `json:"dry_run"`
	Devices []Flushed `json:"devices"`
	// SkippedReason says why nothing, or less than requested, was freed: "a graph
	// capture was running". Empty if the flush ran as requested.
	SkippedReason string   `json:"skipped_reason,omitempty"`
	Notes         []string `json:"notes,omitempty"`
	Milliseconds  float64  `json:"ms"`
}

// Flushed is one device's part of a flush. Before and After are the sums of the
// allocators' reserved memory; in a dry run After is an estimate. Freed is the
// difference, negative if the program allocated in between.
type Flushed struct {
	UUID        string         `json:"uuid"`
	BeforeBytes quantity.Bytes `json:"before_bytes"`
	AfterBytes  quantity.Bytes `json:"after_bytes"`
	FreedBytes  quantity.Bytes `json:"freed_bytes"`
}

// check returns what is impossible in a result.
func (r *FlushResult) check() error {
	if len(r.Devices) > maxDevices {
		return fmt.Errorf("%d devices", len(r.Devices))
	}
	for i := range r.Devices {
		d := &r.Devices[i]
		switch {
		case !wellFormedUUID(d.UUID):
			return fmt.Errorf("device %q is not a UUID in NVML's form", clip(d.UUID))
		case !plausible(d.BeforeBytes) || !plausible(d.AfterBytes):
			return fmt.Errorf("device %s went from %d to %d bytes", d.UUID, d.BeforeBytes, d.AfterBytes)
		case d.FreedBytes != d.BeforeBytes-d.AfterBytes:
			return fmt.Errorf("device %s freed %d bytes, which is not before minus after", d.UUID, d.FreedBytes)
		}
	}
	r.SkippedReason, r.Notes = clip(r.SkippedReason), clipAll(r.Notes, maxNotes)
	return checkDuration(r.Milliseconds)
}

package probe

import (
	"context"
	"fmt"
	"slices"
	"time"

	"vramscope/internal/quantity"
)

// HeldClasses are the classes of holders.
var HeldClasses = []string{"parameters", "gradients", "optimizer_state", "buffers", "activations", "variables", "workspaces", "pending", Unnamed}

// Unnamed is the class of memory whose holder the probe does not know.
const Unnamed = "unnamed"

// Holds is what holds a process's memory: the answer to the command "holds".
type Holds struct {
	TimeNS       int64         `json:"time_ns"` // Unix time of the reading in the probe process
	Exact        bool          `json:"exact"`   // measured by blocks; if false, by the sizes of tensors
	Moving       bool          `json:"moving"`  // memory came and went during the search; only what stayed has a class
	Devices      []DeviceHolds `json:"devices"`
	Notes        []string      `json:"notes,omitempty"`
	Milliseconds float64       `json:"ms,omitempty"`
}

// DeviceHolds is the memory of an allocator on one GPU. The parts sum to AllocatedBytes.
type DeviceHolds struct {
	UUID           string         `json:"uuid"`
	AllocatedBytes quantity.Bytes `json:"allocated_bytes"`
	Parts          []HeldPart     `json:"parts"`
}

// HeldPart is what one class holds.
type HeldPart struct {
	Class  string                   `json:"class"`
	Bytes  quantity.Bytes           `json:"bytes"`
	Blocks quantity.Optional[int64] `json:"blocks,omitzero"`
}

func (h *Holds) check() error {
	if h.TimeNS <= 0 || len(h.Devices) > maxDevices {
		return fmt.Errorf("time_ns %d, %d devices", h.TimeNS, len(h.Devices))
	}
	for i := range h.Devices {
		d := &h.Devices[i]
		if !wellFormedUUID(d.UUID) {
			return fmt.Errorf("device %q is not a UUID in NVML's form", clip(d.UUID))
		}
		if slices.ContainsFunc(h.Devices[:i], func(other DeviceHolds) bool { return other.UUID == d.UUID }) {
			return fmt.Errorf("device %s is listed twice", d.UUID)
		}
		if err := d.check(); err != nil {
			return fmt.Errorf("device %s: %w", d.UUID, err)
		}
	}
	h.Notes = clipAll(h.Notes, maxNotes)
	return checkDuration(h.Milliseconds)
}

func (d *DeviceHolds) check() error {
	if !plausible(d.AllocatedBytes) || len(d.Parts) > len(HeldClasses) {
		return fmt.Errorf("%d parts of %d bytes", len(d.Parts), d.AllocatedBytes)
	}
	var sum quantity.Bytes
	for i, p := range d.Parts {
		switch {
		case !slices.Contains(HeldClasses, p.Class):
			return fmt.Errorf("there is no class %q", clip(p.Class))
		case slices.ContainsFunc(d.Parts[:i], func(other HeldPart) bool { return other.Class == p.Class }):
			return fmt.Errorf("%s is listed twice", p.Class)
		case !plausible(p.Bytes) || !countable(p.Blocks):
			return fmt.Errorf("%s has %d bytes", p.Class, p.Bytes)
		}
		sum += p.Bytes
	}
	if sum != d.AllocatedBytes {
		return fmt.Errorf("its parts sum to %d of %d bytes", sum, d.AllocatedBytes)
	}
	return nil
}

// holdsDeadline leaves a probe time for a search of 20 s and for two waits of 15 s for a step to end.
const holdsDeadline = 60 * time.Second

// Holds asks what holds the process's memory, on all devices that it uses.
func (c *Client) Holds(ctx context.Context) (Holds, error) {
	var line holdsLine
	if err := c.ask(ctx, holdsDeadline, &request{Cmd: cmdHolds}, &line, line.check); err != nil {
		return Holds{}, err
	}
	if err := checkTime(time.Now(), line.TimeNS, c.process.StartTime); err != nil {
		return Holds{}, c.broken(cmdHolds, err)
	}
	return line.Holds, nil
}

package sources

import (
	"context"
	"fmt"
	"slices"
	"time"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/probe"
	"vramscope/sampler/simulator"
	"vramscope/sampler/snapshot"
)

// Held is a probe's answer about the holders of memory, with the driver's figures.
type Held struct {
	probe.Holds
	Runtime  probe.Runtime
	Snapshot *snapshot.Snapshot
	Used     map[string]snapshot.Bytes // by device
}

// holder asks a probe, real or simulated, for the holders of its process's memory.
type holder func(context.Context, process.Identity) (Held, error)

func holdsFrom(finder *probe.Finder) holder {
	return func(ctx context.Context, id process.Identity) (Held, error) {
		client, hello, err := connect(ctx, finder, id)
		if err != nil {
			return Held{}, err
		}
		defer func() { _ = client.Close() }() // the answer is complete
		var out Held
		if len(hello.Runtimes) > 0 {
			out.Runtime = hello.Runtimes[0]
		}
		out.Holds, err = client.Holds(ctx)
		return out, err
	}
}

func simulatedHolds(box *simulator.Box) holder {
	return func(_ context.Context, id process.Identity) (Held, error) {
		found, err := box.Holds(id)
		return Held{Holds: found, Runtime: probe.Runtime{Name: "PyTorch"}}, err
	}
}

// Holds asks the probe of a process for the holders, and compares the answer with the driver's figures
// in the snapshot of look.
func (src *Set) Holds(ctx context.Context, pid int, look func() *snapshot.Snapshot) (Held, error) {
	id, err := src.identify(pid)
	if err != nil {
		return Held{}, err
	}
	out, err := src.holds(ctx, id)
	if err != nil {
		return out, err
	}
	out.Snapshot, out.Used = look(), map[string]snapshot.Bytes{}
	for _, d := range out.Devices {
		for _, row := range action.Rows(out.Snapshot, id, d.UUID) {
			out.Used[d.UUID] = row.Used
		}
	}
	return out, src.checkHolds(out.Snapshot, id, out.Devices)
}

// checkHolds refuses an answer that exceeds the driver's figure.
func (src *Set) checkHolds(snap *snapshot.Snapshot, id process.Identity, devices []probe.DeviceHolds) error {
	if src.Table != nil && !src.Table.Alive(id) { // the driver has no figure that could limit the answer
		return &process.Refusal{Reason: fmt.Sprintf("PID %d has exited", id.PID)}
	}
	sums := map[string]quantity.Bytes{} // by GPU: its MIG instances share one limit
	for _, d := range devices {
		uuid := d.UUID
		if g, _ := snap.Device(uuid); g != nil {
			uuid = g.UUID
		}
		sums[uuid] += d.AllocatedBytes
		if limit := usedOf(snap, id, uuid); sums[uuid] > limit+snapshot.Tolerance(limit) {
			return &process.Refusal{Reason: fmt.Sprintf("its probe reports %s on %s, the driver %s", sums[uuid], text.Clean(uuid), limit)}
		}
	}
	return nil
}

// HoldersAction returns the action of the key V, for one device of a process.
func (src *Set) HoldersAction(latest func() *snapshot.Snapshot) func(context.Context, process.Identity, string) (snapshot.Held, error) {
	return func(ctx context.Context, id process.Identity, device string) (snapshot.Held, error) {
		found, err := src.holds(ctx, id)
		if err == nil {
			err = src.checkHolds(latest(), id, found.Devices)
		}
		if err != nil {
			return snapshot.Held{}, unanswered(err, "what holds its memory is unknown")
		}
		return found.On(device), nil
	}
}

// On returns the holders on one device, none if PyTorch has allocated nothing there.
func (h *Held) On(device string) snapshot.Held {
	out := snapshot.Held{Time: time.Unix(0, h.TimeNS), Notes: h.Notes}
	i := slices.IndexFunc(h.Devices, func(d probe.DeviceHolds) bool { return d.UUID == device })
	if i < 0 {
		return out
	}
	out.Allocated = h.Devices[i].AllocatedBytes
	for _, part := range h.Devices[i].Parts {
		out.Classes = append(out.Classes, snapshot.HeldClass{Class: part.Class, Bytes: part.Bytes})
	}
	return out
}

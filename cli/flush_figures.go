package cli

import (
	"slices"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// rowsOf are a process's rows on some devices, on all where none is named.
func rowsOf(snap *snapshot.Snapshot, id process.Identity, devices []string) []*snapshot.Process {
	var rows []*snapshot.Process
	for p := range snap.ProcessRows(id) {
		if len(devices) == 0 || slices.Contains(devices, deviceOf(snap, p)) {
			rows = append(rows, p)
		}
	}
	return rows
}

// returnable is what a flush of that process would give back.
func returnable(snap *snapshot.Snapshot, id process.Identity, wish flushWish) quantity.Bytes {
	var sum quantity.Bytes
	for _, p := range rowsOf(snap, id, wish.devices) {
		sum += max(p.Returnable.Or(p.Cached.Or(0)), 0)
	}
	return sum
}

// deviceOf is the UUID by which a probe knows a row's device: the GPU's, or
// the MIG instance's.
func deviceOf(snap *snapshot.Snapshot, p *snapshot.Process) string {
	return snap.DeviceUUID(p.ID)
}

// driverFigure is what the driver says a process uses of a device; where it
// does not tell that, what is used of the whole device.
func driverFigure(snap *snapshot.Snapshot, id process.Identity, uuid string) (used snapshot.Bytes, whole bool) {
	for _, p := range rowsOf(snap, id, []string{uuid}) {
		if p.Used.Known() {
			return p.Used, false
		}
	}
	switch g, instance := snap.Device(uuid); {
	case instance != nil:
		return instance.Memory.Used, true
	case g != nil:
		return g.Memory.Used, true
	}
	return snapshot.Bytes{}, true
}

// heldFigure is what a process's allocators hold of a device by its probe's last
// word; unknown where that is old, or one of them does not tell.
func heldFigure(snap *snapshot.Snapshot, id process.Identity, uuid string) snapshot.Bytes {
	var held quantity.Bytes
	rows := rowsOf(snap, id, []string{uuid})
	for _, p := range rows {
		if p.Probe == nil || p.Probe.State != snapshot.ProbeLive || len(p.Allocators) == 0 {
			return snapshot.Bytes{}
		}
		for i := range p.Allocators {
			reserved, ok := p.Allocators[i].Reserved.Value()
			if !ok {
				return snapshot.Bytes{}
			}
			held += reserved
		}
	}
	if len(rows) == 0 {
		return snapshot.Bytes{}
	}
	return quantity.From(held, quantity.Probe)
}

// indexOf is the index of the GPU that a device is, or is a part of.
func indexOf(snap *snapshot.Snapshot, uuid string) snapshot.Int {
	if g, instance := snap.Device(uuid); g != nil && (instance != nil || g.Name != "") {
		return quantity.From(g.Index, quantity.Driver)
	}
	return snapshot.Int{}
}

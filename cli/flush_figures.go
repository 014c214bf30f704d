package cli

import (
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// rowsOf are a process's rows on some devices, on all where none is named.
func rowsOf(snap *snapshot.Snapshot, id process.Identity, devices []string) []*snapshot.Process {
	var rows []*snapshot.Process
	for i := range snap.Rows {
		p := &snap.Rows[i]
		wanted := len(devices) == 0
		for _, uuid := range devices {
			wanted = wanted || uuid == deviceOf(snap, p)
		}
		if p.ID.Process == id && wanted {
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
	if !p.ID.Instance.MIG {
		return p.ID.GPUUUID
	}
	for i := range snap.GPUs {
		for j := range snap.GPUs[i].Instances {
			instance := &snap.GPUs[i].Instances[j]
			if snap.GPUs[i].UUID == p.ID.GPUUUID && instance.ID == p.ID.Instance {
				return instance.UUID
			}
		}
	}
	return p.ID.GPUUUID
}

// driverFigure is what the driver says a process uses of a device; where it
// does not tell that, what is used of the whole device.
func driverFigure(snap *snapshot.Snapshot, id process.Identity, uuid string) (used snapshot.Bytes, whole bool) {
	for _, p := range rowsOf(snap, id, []string{uuid}) {
		if p.Used.Known() {
			return p.Used, false
		}
	}
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		if g.UUID == uuid {
			return g.Memory.Used, true
		}
		for j := range g.Instances {
			if g.Instances[j].UUID == uuid {
				return g.Instances[j].Memory.Used, true
			}
		}
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
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		here := g.UUID == uuid && g.Name != ""
		for j := range g.Instances {
			here = here || g.Instances[j].UUID == uuid
		}
		if here {
			return quantity.From(g.Index, quantity.Driver)
		}
	}
	return snapshot.Int{}
}

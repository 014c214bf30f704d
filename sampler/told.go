package sampler

import (
	"slices"

	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// toldDevice is a GPU that a probe names and the driver does not: there is no
// driver to ask, or it no longer lists it.
type toldDevice struct {
	uuid  string
	total snapshot.Bytes
}

// maxTold bounds how many such GPUs there can be: any process may name some.
const maxTold = 64

// hear notes what a probe tells of a device in addition to its allocators. It
// reports whether there is a place for the device among the GPUs.
func (s *Sampler) hear(uuid string, d *probe.Device) bool {
	at := slices.IndexFunc(s.told, func(t toldDevice) bool { return t.uuid == uuid })
	if at < 0 {
		if g := s.driver.seen(uuid); g != nil && g.last != nil {
			return true // the driver's own word is there
		}
		if len(s.told) == maxTold {
			return s.driver.seen(uuid) != nil
		}
		at = len(s.told)
		s.told = append(s.told, toldDevice{uuid: uuid})
	}
	// A MIG instance is no GPU: its total is not its GPU's.
	if d.UUID == uuid && d.TotalBytes != nil {
		s.told[at].total = told(d.TotalBytes)
	}
	return true
}

// totalTold is a device's total by its probes.
func (s *Sampler) totalTold(uuid string) snapshot.Bytes {
	for i := range s.told {
		if s.told[i].uuid == uuid {
			return s.told[i].total
		}
	}
	return snapshot.Bytes{}
}

// indexOf is the index of a GPU that the driver has listed. Those that only
// probes tell of come after them all, in the order in which they were told.
func (s *Sampler) indexOf(uuid string) int {
	past := 0
	for _, g := range s.driver.gpus {
		if g.device.UUID == uuid {
			return g.device.Index
		}
		past = max(past, g.device.Index+1)
	}
	for i := range s.told {
		if s.told[i].uuid == uuid {
			break
		}
		if s.driver.seen(s.told[i].uuid) == nil {
			past++
		}
	}
	return past
}

// seen is the GPU that the driver has listed under a UUID, or nil.
func (d *driver) seen(uuid string) *gpu {
	for _, g := range d.gpus {
		if g.device.UUID == uuid {
			return g
		}
	}
	return nil
}

// addToldDevices adds the GPUs that only probes tell of, so that their
// processes have a place to stand under. What is used of them nobody tells.
func (s *Sampler) addToldDevices(gpus []snapshot.GPU, rows []snapshot.Process) []snapshot.GPU {
	listed := len(gpus)
	for i := range rows {
		uuid := rows[i].ID.GPUUUID
		if i > 0 && uuid == rows[i-1].ID.GPUUUID || slices.ContainsFunc(gpus, func(g snapshot.GPU) bool { return g.UUID == uuid }) {
			continue
		}
		gpus = append(gpus, snapshot.GPU{
			Index: rows[i].GPU, UUID: uuid, State: snapshot.GPUError, Message: snapshot.ProbeDataOnly,
			Memory: snapshot.Memory{Total: s.totalTold(uuid)},
			Parts:  partsOf(snapshot.Bytes{}, rows, func(p *snapshot.Process) bool { return p.ID.GPUUUID == uuid }),
		})
	}
	slices.SortFunc(gpus[listed:], func(a, b snapshot.GPU) int { return a.Index - b.Index })
	return gpus
}

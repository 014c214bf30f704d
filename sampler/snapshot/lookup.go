package snapshot

import (
	"iter"
	"slices"

	"vramscope/internal/process"
)

// GPU finds a GPU by its UUID, or returns nil. This and the other lookups by an ID accept a nil snapshot.
func (s *Snapshot) GPU(uuid string) *GPU {
	if s == nil {
		return nil
	}
	return Find(s.GPUs, func(g *GPU) bool { return g.UUID == uuid })
}

// Find returns the first element that is wanted, or nil.
func Find[T any](all []T, wanted func(*T) bool) *T {
	for i := range all {
		if wanted(&all[i]) {
			return &all[i]
		}
	}
	return nil
}

// Place is a GPU, or a MIG instance if Instance.MIG is set.
type Place struct {
	GPUUUID  string
	Instance InstanceID
}

// Device finds a GPU or a MIG instance by its UUID. The instance is nil if the device is a whole
// GPU; both are nil if the device is unknown.
func (s *Snapshot) Device(uuid string) (*GPU, *Instance) {
	if s == nil {
		return nil, nil
	}
	for i := range s.GPUs {
		g := &s.GPUs[i]
		if g.UUID == uuid {
			return g, nil
		}
		for j := range g.Instances {
			if g.Instances[j].UUID == uuid {
				return g, &g.Instances[j]
			}
		}
	}
	return nil, nil
}

// DeviceUUID returns the UUID of a row's device: the GPU's or, if known, the MIG instance's.
func (s *Snapshot) DeviceUUID(id RowID) string {
	if g := s.GPU(id.GPUUUID); g != nil && id.Instance.MIG {
		if in := g.Instance(id.Instance); in != nil {
			return in.UUID
		}
	}
	return id.GPUUUID
}

func (g *GPU) Instance(id InstanceID) *Instance {
	return Find(g.Instances, func(in *Instance) bool { return in.ID == id })
}

// MemoryOf returns the memory of a MIG instance, or the GPU's if there is no such instance.
func (g *GPU) MemoryOf(id InstanceID) *Memory {
	if in := g.Instance(id); in != nil {
		return &in.Memory
	}
	return &g.Memory
}

// OutlookOf returns the outlook of a MIG instance, or the GPU's if there is no such instance.
func (g *GPU) OutlookOf(id InstanceID) *Outlook {
	if in := g.Instance(id); in != nil {
		return &in.Outlook
	}
	return &g.Outlook
}

// InstanceNumber returns the number of a MIG instance on its GPU, from 1; 0 if there is no such instance.
func (g *GPU) InstanceNumber(id InstanceID) int {
	return 1 + slices.IndexFunc(g.Instances, func(in Instance) bool { return in.ID == id })
}

// Row finds a live row, or returns nil.
func (s *Snapshot) Row(id RowID) *Process {
	if s == nil {
		return nil
	}
	return Find(s.Rows, func(p *Process) bool { return p.ID == id })
}

// Own reports whether the user of vramscope may act on a process, as its owner or as root.
func (s *Snapshot) Own(p *Process) bool {
	user := s.Host.User
	return user == "root" || user != "" && user == p.User
}

// EndedRow finds a row that has ended, or returns nil.
func (s *Snapshot) EndedRow(id RowID) *EndedProcess {
	if s == nil {
		return nil
	}
	return Find(s.Ended, func(e *EndedProcess) bool { return e.Last.ID == id })
}

// AnyRow finds a row, live or ended, or returns nil.
func (s *Snapshot) AnyRow(id RowID) *Process {
	if p := s.Row(id); p != nil {
		return p
	}
	if ended := s.EndedRow(id); ended != nil {
		return &ended.Last
	}
	return nil
}

// ProcessRows returns the live rows of a process: one for each of its devices.
func (s *Snapshot) ProcessRows(id process.Identity) iter.Seq[*Process] {
	return s.rows(func(p *Process) bool { return p.ID.Process == id })
}

// GPURows returns the live rows of a GPU, including its MIG instances'.
func (s *Snapshot) GPURows(uuid string) iter.Seq[*Process] { return s.PlaceRows(Place{GPUUUID: uuid}) }

// PlaceRows returns the live rows of a MIG instance, or of a whole GPU.
func (s *Snapshot) PlaceRows(at Place) iter.Seq[*Process] {
	return s.rows(func(p *Process) bool {
		return p.ID.GPUUUID == at.GPUUUID && (!at.Instance.MIG || p.ID.Instance == at.Instance)
	})
}

func (s *Snapshot) rows(wanted func(*Process) bool) iter.Seq[*Process] {
	return func(yield func(*Process) bool) {
		if s == nil {
			return
		}
		for i := range s.Rows {
			if p := &s.Rows[i]; wanted(p) && !yield(p) {
				return
			}
		}
	}
}

// Fullest returns the GPU with the greatest share of its capacity in use, nil if no share is known.
func (s *Snapshot) Fullest() (fullest *GPU) {
	highest := -1.0
	for i := range s.GPUs {
		g := &s.GPUs[i]
		used, known := g.Memory.Used.Value()
		capacity := g.Memory.Capacity().Or(0)
		if !known || capacity <= 0 || g.State != GPUOK {
			continue
		}
		if share := float64(used) / float64(capacity); share > highest {
			fullest, highest = g, share
		}
	}
	return fullest
}

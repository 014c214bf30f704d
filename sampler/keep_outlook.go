package sampler

import (
	"vramscope/forecast"
	"vramscope/sampler/snapshot"
)

// keptOutlook is the state of the forecaster of a row, a MIG instance or a GPU.
type keptOutlook struct {
	Row          snapshot.RowID
	Allocated    bool // of the row's allocated memory, not of used
	GPUUUID      string
	Instance     snapshot.InstanceID
	InstanceUUID string
	State        []byte
}

// outlooks encodes every forecaster. One that cannot be encoded is left out.
func (s *Sampler) outlooks() []keptOutlook {
	var out []keptOutlook
	keep := func(o *outlook, of keptOutlook) {
		if o.forecaster == nil {
			return
		}
		if state, err := o.forecaster.MarshalBinary(); err == nil {
			of.State = state
			out = append(out, of)
		}
	}
	for id, r := range s.rows {
		keep(&r.outlook, keptOutlook{Row: id})
		keep(&r.allocated, keptOutlook{Row: id, Allocated: true})
	}
	for _, g := range s.driver.gpus {
		keep(&g.outlook, keptOutlook{GPUUUID: g.device.UUID})
		for id, in := range g.instances {
			keep(&in.outlook, keptOutlook{GPUUUID: g.device.UUID, Instance: id, InstanceUUID: in.uuid})
		}
	}
	return out
}

// takeOutlooks restores the forecasters of restored rows and GPUs. One whose
// state cannot be decoded (of another version) starts over.
func (s *Sampler) takeOutlooks(kept []keptOutlook) {
	for i := range kept {
		k := &kept[i]
		f := forecast.New()
		if f.UnmarshalBinary(k.State) != nil {
			continue
		}
		r, g := s.rows[k.Row], s.driver.find(k.GPUUUID)
		switch {
		case r != nil && k.Allocated:
			r.allocated.forecaster = f
		case r != nil:
			r.outlook.forecaster = f
		case g != nil && k.Instance.MIG:
			g.instances[k.Instance] = &instanceOutlook{outlook: outlook{forecaster: f}, uuid: k.InstanceUUID}
		case g != nil:
			g.outlook.forecaster = f
		}
	}
}

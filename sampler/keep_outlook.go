package sampler

import (
	"time"

	"vramscope/forecast"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// keptOutlook is the state of the outlook of a row, a MIG instance or a GPU: of its
// forecaster or, where it has none, of the time in which it did not move.
type keptOutlook struct {
	Row          snapshot.RowID
	Allocated    bool // of the row's allocated memory, not of used
	GPUUUID      string
	Instance     snapshot.InstanceID
	InstanceUUID string
	State        []byte
	First, At    time.Time
	Given        int
	Figure       quantity.Bytes
}

// outlooks encodes every outlook. One that cannot be encoded is left out.
func (s *Sampler) outlooks() []keptOutlook {
	var out []keptOutlook
	keep := func(o *outlook, of keptOutlook) {
		if o.forecaster == nil {
			of.First, of.At, of.Given, of.Figure = o.first, o.at, o.given, o.figure
		} else if state, err := o.forecaster.MarshalBinary(); err == nil {
			of.State = state
		}
		if of.Given > 0 || of.State != nil {
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

// takeOutlooks restores the outlooks of restored rows and GPUs. A forecaster whose
// state cannot be decoded (of another version) starts over.
func (s *Sampler) takeOutlooks(kept []keptOutlook) {
	for i := range kept {
		k := &kept[i]
		o := outlook{first: k.First, at: k.At, given: k.Given, figure: k.Figure}
		if k.State != nil {
			o = outlook{forecaster: forecast.New()}
			if o.forecaster.UnmarshalBinary(k.State) != nil {
				continue
			}
		}
		r, g := s.rows[k.Row], s.driver.find(k.GPUUUID)
		switch {
		case r != nil && k.Allocated:
			r.allocated = o
		case r != nil:
			r.outlook = o
		case g != nil && k.Instance.MIG:
			g.instances[k.Instance] = &instanceOutlook{outlook: o, uuid: k.InstanceUUID}
		case g != nil:
			g.outlook = o
		}
	}
}

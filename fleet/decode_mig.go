package fleet

import (
	"cmp"
	"fmt"

	"vramscope/internal/sorted"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// mostInstances is more than a GPU can have.
const mostInstances = 64

// instanceOf reads the label mig, "GPU instance/compute instance". It returns the zero value for other text.
func instanceOf(label string) (id snapshot.InstanceID) {
	if n, err := fmt.Sscanf(label, "%d/%d", &id.GPU, &id.Compute); err != nil || n != 2 {
		return snapshot.InstanceID{}
	}
	id.MIG = true
	return id
}

type instanceFigures struct {
	instance snapshot.Instance
	values   map[field]float64
}

// ofMIG reads a series of a MIG instance. It returns false for other series.
func (d *decoder) ofMIG(s *series, name string) bool {
	id, known := ofInstance()[name]
	if !known && name != exported(metric.MIGInfo) && name != exported(metric.MIGFullIn) {
		return false
	}
	g, instance := d.gpu(s.label("uuid"), s.label("gpu")), instanceOf(s.label("mig"))
	if g == nil || !instance.MIG {
		return true
	}
	if g.instances[instance] == nil {
		if len(g.instances) >= mostInstances {
			return true
		}
		g.instances[instance] = &instanceFigures{snapshot.Instance{ID: instance}, map[field]float64{}}
	}
	in := g.instances[instance]
	switch {
	case name == exported(metric.MIGInfo):
		in.instance.UUID, in.instance.Profile = s.label("mig_uuid"), s.label("profile")
	case known:
		in.values[figures[id]] = s.value
	default:
		in.values[fullIn] = s.value
	}
	return true
}

// finishInstances makes the instances of a GPU, in the order of their IDs.
func (g *gpuFigures) finishInstances(rows []snapshot.Process) []snapshot.Instance {
	var all []snapshot.Instance
	for id, in := range g.instances {
		belongs := func(p *snapshot.Process) bool { return p.ID.GPUUUID == g.gpu.UUID && p.ID.Instance == id }
		in.instance.Memory = memoryOf(in.values)
		in.instance.Parts = snapshot.PartsOf(in.instance.Memory.Used, rows, belongs)
		in.instance.FullIn = fullInOf(in.values)
		all = append(all, in.instance)
	}
	sorted.Stable(all, func(a, b snapshot.Instance) int {
		return cmp.Or(cmp.Compare(a.ID.GPU, b.ID.GPU), cmp.Compare(a.ID.Compute, b.ID.Compute))
	})
	return all
}

package fakedriver

import "slices"

// Process returns the process with a pid, nil if it is not on this GPU.
func (g *GPU) Process(pid uint64) *Process {
	for i := range g.Processes {
		if g.Processes[i].PID == pid {
			return &g.Processes[i]
		}
	}
	return nil
}

// Start puts a process on the GPU; its memory is taken from the free memory.
func (g *GPU) Start(p Process) {
	g.Processes = append(g.Processes, p)
	g.take(p, held(p))
}

// End takes a process off the GPU and frees its memory.
func (g *GPU) End(pid uint64) {
	i := slices.IndexFunc(g.Processes, func(p Process) bool { return p.PID == pid })
	if i < 0 {
		return
	}
	p := g.Processes[i]
	g.Processes = slices.Delete(slices.Clone(g.Processes), i, i+1)
	g.take(p, -held(p))
}

// Resize sets how many bytes a process holds; the difference is taken from the free memory.
func (g *GPU) Resize(pid, used uint64) {
	p := g.Process(pid)
	if p == nil {
		return
	}
	before := held(*p)
	p.Used = used
	g.take(*p, held(*p)-before)
}

// Raise adds an Xid that event sets will deliver.
func (g *GPU) Raise(code uint64) {
	next := uint64(1)
	for _, x := range g.XIDs {
		next = max(next, x.Seq+1)
	}
	g.XIDs = append(g.XIDs, XID{Seq: next, Code: code, GPUInstance: Absent, Compute: Absent})
}

// take moves bytes from free to used, modulo 2^64: a negative amount frees.
func (g *GPU) take(p Process, bytes uint64) {
	g.Used += bytes
	g.Free -= bytes
	for i := range g.Instances {
		instance := &g.Instances[i]
		if instance.GPUInstance == p.GPUInstance && instance.Compute == p.Compute {
			instance.Used += bytes
			instance.Free -= bytes
		}
	}
}

// held returns how many bytes of the GPU's memory the process uses, 0 if unknown.
func held(p Process) uint64 {
	if p.Used == Unavailable || p.Used == Absent {
		return 0
	}
	return p.Used
}

package sampler

import (
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// limits holds the limits that the driver's figures set on the probes' reports in this tick.
type limits struct {
	sampler   *Sampler
	now       time.Time
	rows      []snapshot.Process // the driver's rows; in caches also those that probes added
	devices   map[snapshot.Place]*deviceLimit
	processes map[process.Identity]quantity.Bytes // the limit of a process on all devices together
}

type deviceLimit struct {
	used, total snapshot.Bytes
	at          time.Time
	listed      quantity.Bytes // used by the processes whose memory the driver reports
	unlisted    quantity.Bytes // held by the other processes, according to their accepted reports
}

// unlimited is the limit if no figure is known.
const unlimited = 4 * quantity.EiB

// check compares a report on one device with the driver's figures. limit is the most memory that the
// process can hold. shown and rejected are as in reports.take.
func (l *limits) check(p *snapshot.Process, d *probe.Device, at span) (shown report, limit quantity.Bytes, rejected string) {
	r := l.sampler.reports[p.ID]
	if r == nil {
		r = &reports{}
		l.sampler.reports[p.ID] = r
	}
	r.seen = l.sampler.sequence
	on, size := l.device(snapshot.Place{GPUUUID: p.ID.GPUUUID, Instance: p.ID.Instance}), l.size(p, d)
	now := bound{limit: unlimited, at: l.now}
	used, known := p.Used.Value()
	switch {
	case known:
		now = bound{limit: used, name: "driver", at: on.at}
	case on.used.Known():
		now = bound{limit: on.used.Or(0) - on.listed, name: "driver leaves", at: on.at}
	case size > 0:
		now = bound{limit: size, name: "GPU has", at: l.now}
	}
	if !known {
		if r.unlisted {
			on.unlisted -= r.shown.held
		}
		now.limit = max(now.limit-on.unlisted, 0)
	}
	newest := reportOf(d, at)
	shown, rejected = r.take(l.now, newest, now, size)
	if shown.device == nil && newest.fits(size) {
		p.Probe.Claimed = quantity.From(newest.held, quantity.Probe)
	}
	if r.unlisted = !known; r.unlisted {
		on.unlisted += shown.held
	}
	l.processes[p.ID.Process] = min(l.processes[p.ID.Process]+now.limit, unlimited)
	return shown, now.limit, rejected
}

// size returns a device's size as the driver or else the probe reports it; 0 if unknown.
func (l *limits) size(p *snapshot.Process, d *probe.Device) quantity.Bytes {
	return l.device(snapshot.Place{GPUUUID: p.ID.GPUUUID, Instance: p.ID.Instance}).total.Or(d.Total.Or(0))
}

func (l *limits) device(where snapshot.Place) *deviceLimit {
	if on := l.devices[where]; on != nil {
		return on
	}
	on := &deviceLimit{at: l.now}
	if g := l.sampler.driver.find(where.GPUUUID); g != nil && g.last != nil {
		on.total = memoryOf(g.last, where.Instance).Total
		if g.fresh != nil {
			on.used, on.at = memoryOf(g.fresh, where.Instance).Used, g.fresh.Time
		}
	}
	for i := range l.rows {
		if p := &l.rows[i]; p.ID.GPUUUID == where.GPUUUID && p.ID.Instance == where.Instance {
			on.listed += p.Used.Or(0)
		}
	}
	for id, r := range l.sampler.reports {
		if r.unlisted && id.GPUUUID == where.GPUUUID && id.Instance == where.Instance && l.sampler.mayLive(id) {
			on.unlisted += r.shown.held
		}
	}
	l.devices[where] = on
	return on
}

// caches returns the program's own caches, with the sizes that it reports. The sizes are unknown if
// their sum is more than the process can hold, or more than its allocators have allocated.
func (l *limits) caches(p *snapshot.Process) []snapshot.Evictable {
	limit := l.processes[p.ID.Process]
	if allocated, ok := l.allocated(p.ID.Process); ok {
		limit = min(limit, allocated)
	}
	if p.EvictableBytes().Or(0) > limit+snapshot.Tolerance(limit) {
		for i := range p.Evictable {
			p.Evictable[i].Bytes = snapshot.Bytes{}
		}
	}
	return p.Evictable
}

// allocated returns a process's allocated memory on all its GPUs; unknown if unknown on one.
func (l *limits) allocated(id process.Identity) (sum quantity.Bytes, known bool) {
	for i := range l.rows {
		if p := &l.rows[i]; p.ID.Process == id {
			allocated, ok := p.Allocated.Value()
			if !ok {
				return 0, false
			}
			sum, known = sum+allocated, true
		}
	}
	return sum, known
}

// memoryOf returns the memory of a GPU, or of one of its instances.
func memoryOf(r *nvml.Reading, id snapshot.InstanceID) nvml.Memory {
	if !id.MIG {
		return r.Memory
	}
	if in := snapshot.Find(r.Instances, func(in *nvml.Instance) bool { return in.ID == id }); in != nil {
		return in.Memory
	}
	return nvml.Memory{}
}

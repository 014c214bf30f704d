package exporter

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// other is the name of the series that sums all processes without a series of their own.
const other = "other"

// mostUnlisted limits how many probe-only GPUs have series for their processes.
const mostUnlisted = 16

// group holds the series of one PID on a MIG instance or, without the label pid, of all processes with
// equal labels; or the sum of the processes that have no series of their own.
type group struct {
	key    string   // unique on its GPU
	values []string // the values of metric.ProcessLabels; "" where the label is left out
	mig    string
	figures
}

// newGroup makes a group without figures. With the label pid, the key is PID and MIG instance, so a reused
// PID shares the group of an earlier process that the driver still lists.
func (e *Exporter) newGroup(values []string, mig string) *group {
	by := values
	if e.keeps(pidLabel) {
		by = values[:1]
	}
	return &group{key: strings.Join(by, "\xff") + "\xff" + mig, values: values, mig: mig}
}

// writeProcesses writes the series of the largest processes of each GPU, and a series that sums the others.
func (e *Exporter) writeProcesses(w writer, snap *snapshot.Snapshot) {
	if len(e.ProcessLabels) == 0 {
		return
	}
	byGPU, unlisted := map[string]map[string]*group{}, 0
	for i := range snap.Rows {
		p := &snap.Rows[i]
		groups := byGPU[p.ID.GPUUUID]
		if groups == nil {
			if snap.GPU(p.ID.GPUUUID) == nil {
				if unlisted++; unlisted > mostUnlisted {
					continue
				}
			}
			groups = map[string]*group{}
			byGPU[p.ID.GPUUUID] = groups
		}
		e.add(groups, p)
	}
	for uuid, groups := range byGPU {
		for _, g := range e.largest(groups) {
			e.writeGroup(w, uuid, g)
		}
	}
}

// writeServers writes the reports of servers, if there is the label pid. A server's processes have the same
// report, of which writer.text keeps one.
func (e *Exporter) writeServers(w writer, snap *snapshot.Snapshot) {
	for i := range snap.Rows {
		s := snap.Rows[i].Served
		if s == nil || !e.keeps(pidLabel) {
			continue
		}
		pid := strconv.Itoa(s.Process.PID)
		for _, part := range s.Parts {
			w.exported(metric.ServerMemory, nil, float64(part.Bytes), pid, s.Name, part.Name)
		}
		if used, known := s.KVCacheUsed.Value(); known {
			w.exported(metric.ServerKVCacheUsed, nil, used, pid, s.Name)
		}
		if requests, known := s.Requests.Value(); known {
			w.exported(metric.ServerRequests, nil, float64(requests), pid, s.Name)
		}
	}
}

func (e *Exporter) add(groups map[string]*group, p *snapshot.Process) {
	values, mig := make([]string, len(e.names)), ""
	for i, name := range e.names {
		if e.keeps(name) {
			values[i] = clean(processLabel(p, name))
		}
	}
	if e.keeps(pidLabel) {
		mig = instanceName(p.ID.Instance)
	}
	g := e.newGroup(values, mig)
	if known := groups[g.key]; known != nil {
		g = known
	}
	groups[g.key] = g
	g.add(p.Value)
}

const pidLabel = "pid"

func processLabel(p *snapshot.Process, name string) string {
	switch name {
	case pidLabel:
		return strconv.Itoa(p.ID.Process.PID)
	case "user":
		return p.User
	case "runtime":
		return p.Runtime
	case "name":
		return p.ProgramName() // without arguments, which may hold secrets
	case "hpc_job":
		if p.Job.Kind != "pod" {
			return p.Job.ID
		}
	case "namespace":
		return p.Job.Namespace
	case "pod":
		if p.Job.Kind == "pod" {
			return p.Job.ID
		}
	case "container":
		return p.Job.Container
	}
	return ""
}

// largest returns the groups with the most memory, largest first. If it leaves groups out, a last one sums them.
func (e *Exporter) largest(groups map[string]*group) []*group {
	ordered := slices.SortedFunc(maps.Values(groups), func(a, b *group) int {
		return cmp.Or(cmp.Compare(b.size(), a.size()), strings.Compare(a.key, b.key))
	})
	if len(ordered) <= e.Processes {
		return ordered
	}
	values := make([]string, len(e.names))
	for i, name := range e.names {
		if e.keeps(name) && (name == pidLabel || name == "name" || !e.keeps(pidLabel)) {
			values[i] = other
		}
	}
	rest := e.newGroup(values, "")
	kept := make([]*group, 0, e.Processes+1)
	for i, g := range ordered {
		// A user may have the same name as rest, which then includes that user's group.
		if i < e.Processes && g.key != rest.key {
			kept = append(kept, g)
		} else {
			rest.add(func(id metric.ID) metric.Float { return g.figures[id] })
		}
	}
	return append(kept, rest)
}

// size returns a group's memory by the driver or, if that is unknown, by the probe.
func (g *group) size() float64 {
	return g.figures[metric.Used].Or(g.figures[metric.Allocated].Or(0) + g.figures[metric.Cached].Or(0))
}

// writeGroup writes the series of a group. With the label pid, only an info series has the other labels.
func (e *Exporter) writeGroup(w writer, uuid string, g *group) {
	values := g.values
	subject := labels{}.with([]string{"uuid", "mig"}, []string{uuid, g.mig})
	if e.keeps(pidLabel) {
		subject = subject.with(e.names[:1], values[:1])
		w.exported(metric.ProcessInfo, subject, 1, values[1:]...)
	} else {
		subject = subject.with(e.names, values)
	}
	for id := range metric.FirstSensor {
		w.measured(metric.Process, id, subject, g.figures[id])
	}
}

package fleet

import (
	"strconv"
	"strings"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// row returns the row of a series, nil if there are too many.
func (d *decoder) row(s *series) *snapshot.Process {
	k := rowKey{s.label("uuid"), s.label("pid"), s.label("mig")}
	if p := d.rows[k]; p != nil {
		return p
	}
	if len(d.rows) >= mostRows {
		return nil
	}
	pid, _ := strconv.Atoi(k.pid) // the label "other" is no number
	// No action uses this start time, but zero would mean a process of another container.
	p := &snapshot.Process{ID: snapshot.RowID{Process: process.Identity{PID: max(pid, 0), StartTime: 1}, GPUUUID: k.uuid, Instance: instanceOf(k.instance)}, Type: "C"}
	if pid <= 0 {
		p.Name = "other processes"
	}
	d.rows[k] = p
	d.order = append(d.order, k)
	return p
}

func (d *decoder) process(s *series, id metric.ID) {
	p := d.row(s)
	if p == nil || s.value < -maxMemory || s.value > maxMemory {
		return
	}
	to := map[metric.ID]*snapshot.Bytes{
		metric.Used: &p.Used, metric.Allocated: &p.Allocated, metric.Cached: &p.Cached, metric.Fragmented: &p.Fragmented, metric.Returnable: &p.Returnable,
	}[id]
	if to != nil {
		*to = quantity.From(quantity.Bytes(s.value), metric.Table[id].Source)
	}
}

func (d *decoder) describe(s *series) {
	p := d.row(s)
	if p == nil {
		return
	}
	p.User, p.Runtime = s.label("user"), s.label("runtime")
	if name := s.label("name"); name != "" {
		p.Name, p.Command = name, []string{name}
	}
	if id := s.label("hpc_job"); id != "" {
		p.Job = process.Job{Kind: "job", ID: id}
	} else if pod := s.label("pod"); pod != "" {
		p.Job = process.Job{Kind: "pod", ID: pod, Namespace: s.label("namespace"), Container: s.label("container")}
	}
}

func (d *decoder) alert(s *series) {
	a := snapshot.Alert{Kind: snapshot.AlertKind(s.label("kind")), GPUUUID: s.label("uuid"), Since: d.snap.Time}
	if s.value <= 0 || len(d.snap.Alerts) >= mostRows {
		return
	}
	if s.label("severity") == "urgent" {
		a.Severity = snapshot.Urgent
	}
	if i, err := strconv.Atoi(s.label("gpu")); err == nil {
		a.GPU = i
	}
	a.Note = strings.ReplaceAll(string(a.Kind), "_", " ")
	a.Message = a.Note
	if a.GPUUUID != "" {
		a.Message = "GPU " + strconv.Itoa(a.GPU) + ": " + a.Note
	}
	d.snap.Alerts = append(d.snap.Alerts, a)
}

package sampler

import (
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

// A job holds a GPU until a process runs on the GPU. If anything contradicts the scheduler's numbers,
// no job is named.
func TestJobThatRunsNothingHoldsItsGPU(t *testing.T) {
	job := func(id string, gpus ...int) process.Allocation {
		return process.Allocation{Job: process.Job{Kind: "slurm", ID: id}, User: "alice", GPUs: gpus}
	}
	pod := func(uuids ...string) process.Allocation {
		return process.Allocation{Job: process.Job{Kind: "pod", ID: "train-0", Namespace: "ml"}, UUIDs: uuids}
	}
	for _, c := range []struct {
		name   string
		held   []process.Allocation
		change func(b *box)
		want   string
	}{
		{"held", []process.Allocation{job("88123", 0, 1)}, nil, "slurm 88123 (alice) holds it"},
		{"another user is there", []process.Allocation{job("88123", 1)}, nil, "slurm 88123 (alice) holds it"},
		{"of a pod", []process.Allocation{pod("GPU-1", "GPU-1", "MIG-7", "GPU-0::2")}, nil, "pod train-0 (ml) holds it"}, // two containers of the pod share the GPU
		{"a part of it is a pod's", []process.Allocation{pod("GPU-1::2")}, nil, ""},
		{"of two pods", []process.Allocation{pod("GPU-1"), pod("GPU-1")}, nil, ""},
		{"a pod runs elsewhere", []process.Allocation{pod("GPU-1"), {Job: process.Job{Kind: "slurm", ID: "7"}, UUIDs: []string{"GPU-0::1"}}}, nil, "pod train-0 (ml) holds it"}, // the other allocation is a part of GPU 0
		{"a pod's, and a job's", []process.Allocation{pod("GPU-1"), job("88123", 1)}, nil, ""},
		{"a process", []process.Allocation{job("88123", 0)}, nil, ""},
		{"busy", []process.Allocation{job("88123", 1)}, func(b *box) {
			r := b.readings["GPU-1"]
			r.Utilization = quantity.From(50, quantity.Driver)
			b.readings["GPU-1"] = r
		}, ""},
		{"two jobs", []process.Allocation{job("88123", 1), job("88124", 1)}, nil, ""},
		{"no such GPU", []process.Allocation{job("88123", 1, 2)}, nil, ""},
		{"it runs elsewhere", []process.Allocation{job("7", 1)}, nil, ""},
		{"unknown list", []process.Allocation{job("88123", 1)}, func(b *box) {
			r := b.readings["GPU-1"]
			r.ProcessesError = nvml.ErrNotSupported
			b.readings["GPU-1"] = r
		}, ""},
		{"MIG", []process.Allocation{job("88123", 1)}, func(b *box) {
			r := b.readings["GPU-0"]
			r.MIGEnabled = true
			b.readings["GPU-0"] = r
			b.held = []process.Allocation{job("88123", 0, 1)}
		}, ""},
	} {
		b := newBox(2)
		p := b.processes[100]
		p.Job = process.Job{Kind: "slurm", ID: "7"}
		b.processes[100] = p
		r := b.readings["GPU-1"]
		r.Processes, r.Utilization = nil, quantity.From(0, quantity.Driver)
		b.readings["GPU-1"], b.held = r, c.held
		if c.change != nil {
			c.change(b)
		}
		s := b.sampler()
		b.tick(s)
		snap := b.tick(s)
		got := ""
		if a := snap.GPUs[1].Allocation; a != nil {
			got = a.String()
			if !a.Since.Equal(snap.Time.Add(-time.Second)) {
				t.Errorf("%s: since %v", c.name, a.Since)
			}
		}
		if got != c.want || snap.GPUs[0].Allocation != nil {
			t.Errorf("%s: %q, want %q; GPU 0: %v", c.name, got, c.want, snap.GPUs[0].Allocation)
		}
		if c.want == "" {
			continue
		}
		r.Processes = []nvml.Process{{PID: 101, Type: nvml.Compute}}
		b.readings["GPU-1"] = r
		if a := b.tick(s).GPUs[1].Allocation; a != nil {
			t.Errorf("%s: with a process: %v", c.name, a)
		}
		r.Processes = nil
		b.readings["GPU-1"] = r
		if snap := b.tick(s); !snap.GPUs[1].Allocation.Since.Equal(snap.Time) {
			t.Errorf("%s: after it: %v", c.name, snap.GPUs[1].Allocation)
		}
	}
	var none *snapshot.JobAllocation
	if p := (snapshot.Process{ID: snapshot.RowID{Process: process.Identity{PID: 1}}}); p.JobAllocation() != none {
		t.Error("a process is no allocation")
	}
}

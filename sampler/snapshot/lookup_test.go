package snapshot

import (
	"slices"
	"testing"

	"vramscope/internal/process"
)

func TestLookups(t *testing.T) {
	mig := InstanceID{MIG: true, GPU: 2}
	row := func(pid int, uuid string, in InstanceID) Process {
		return Process{ID: RowID{Process: process.Identity{PID: pid, StartTime: 1}, GPUUUID: uuid, Instance: in}}
	}
	s := &Snapshot{
		GPUs: []GPU{{UUID: "GPU-0"}, {UUID: "GPU-1", Instances: []Instance{{ID: InstanceID{MIG: true, GPU: 1}, UUID: "MIG-1"}, {ID: mig, UUID: "MIG-2"}}}},
		Rows: []Process{row(10, "GPU-0", InstanceID{}), row(10, "GPU-1", mig), row(11, "GPU-1", mig)},
	}
	s.Ended = []EndedProcess{{Last: row(9, "GPU-0", InstanceID{})}}
	if s.GPU("GPU-1") != &s.GPUs[1] || s.GPU("GPU-2") != nil {
		t.Error("GPU")
	}
	if s.Row(s.Rows[1].ID) != &s.Rows[1] || s.Row(s.Ended[0].Last.ID) != nil || s.EndedRow(s.Ended[0].Last.ID) != &s.Ended[0] || s.EndedRow(s.Rows[0].ID) != nil {
		t.Error("rows by ID")
	}
	g := s.GPU("GPU-1")
	if g.Instance(mig) != &g.Instances[1] || g.InstanceNumber(mig) != 2 || g.Instance(InstanceID{}) != nil || g.InstanceNumber(InstanceID{}) != 0 {
		t.Error("instances")
	}
	for uuid, want := range map[string][2]any{"GPU-0": {&s.GPUs[0], (*Instance)(nil)}, "MIG-2": {g, &g.Instances[1]}, "": {(*GPU)(nil), (*Instance)(nil)}} {
		if found, in := s.Device(uuid); found != want[0] || in != want[1] {
			t.Errorf("device %q: %v %v", uuid, found, in)
		}
	}
	for i, want := range []string{"GPU-0", "MIG-2", "MIG-2"} {
		if got := s.DeviceUUID(s.Rows[i].ID); got != want {
			t.Errorf("row %d is on %s, want %s", i, got, want)
		}
	}
	if got := s.DeviceUUID(RowID{GPUUUID: "GPU-1", Instance: InstanceID{MIG: true, GPU: 7}}); got != "GPU-1" {
		t.Errorf("a row on an unknown instance is on %s", got)
	}
	if got := slices.Collect(s.ProcessRows(s.Rows[0].ID.Process)); !slices.Equal(got, []*Process{&s.Rows[0], &s.Rows[1]}) {
		t.Errorf("rows of a process: %v", got)
	}
	if got := slices.Collect(s.GPURows("GPU-1")); !slices.Equal(got, []*Process{&s.Rows[1], &s.Rows[2]}) {
		t.Errorf("rows of a GPU: %v", got)
	}
}

func TestLookupsOfANilSnapshot(t *testing.T) {
	var s *Snapshot
	in, whole := s.Device("GPU-0")
	if s.GPU("GPU-0") != nil || s.Row(RowID{}) != nil || s.EndedRow(RowID{}) != nil || in != nil || whole != nil ||
		slices.Collect(s.ProcessRows(process.Identity{})) != nil || s.DeviceUUID(RowID{GPUUUID: "GPU-0"}) != "GPU-0" {
		t.Error("a nil snapshot holds something")
	}
}

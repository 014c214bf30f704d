package ui

import (
	"testing"

	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// An alarm about an instance takes the graph to that instance.
func TestTheGraphFollowsAnInstancesAlarm(t *testing.T) {
	s := snapshottest.DrawnBox()
	gpu := &s.GPUs[5]
	s.Alerts = []snapshot.Alert{{
		Kind: snapshot.AlertFullIn, Severity: snapshot.Urgent, GPU: 5, GPUUUID: gpu.UUID, Instance: gpu.Instances[1].ID,
		Note: "5:2 full in 4m10s", Message: "GPU 5:2 full in 4m10s (3m–6m)",
	}}
	got := followed(&state{shown: s}, nil)
	if want := (snapshot.SeriesKey{GPUUUID: gpu.UUID, Instance: gpu.Instances[1].ID}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

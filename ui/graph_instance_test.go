package ui

import (
	"testing"
	"time"

	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// A MIG instance has a forecast of its own: its graph shows that one, up to its
// own capacity.
func TestAnInstancesGraphHasItsForecast(t *testing.T) {
	s := snapshottest.DrawnBox()
	gpu := &s.GPUs[5]
	in := &gpu.Instances[0]
	in.Predicted = []snapshot.Prediction{{Horizon: time.Minute, Median: 7 << 30}}
	in.FullIn = &snapshot.FullIn{Median: 4 * time.Minute}
	gpu.Predicted = []snapshot.Prediction{{Horizon: time.Minute, Median: 70 << 30}}
	got := subjectOf(s, snapshot.SeriesKey{GPUUUID: gpu.UUID, Instance: in.ID})
	if len(got.predicted) != 1 || got.predicted[0] != in.Predicted[0] || got.fullIn != in.FullIn || got.capacity != in.Memory.Capacity() {
		t.Errorf("%+v", got)
	}
}

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

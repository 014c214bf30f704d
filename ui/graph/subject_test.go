package graph

import (
	"testing"
	"time"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

// A MIG instance has a forecast of its own: its graph shows that forecast, up to the instance's
// capacity.
func TestSubjectOfInstanceHasItsOwnForecast(t *testing.T) {
	s := snapshottest.DrawnBox()
	gpu := &s.GPUs[5]
	in := &gpu.Instances[0]
	in.Predicted = []snapshot.Prediction{{Horizon: time.Minute, Median: 7 << 30}}
	in.FullIn = &snapshot.FullIn{Median: 4 * time.Minute}
	gpu.Predicted = []snapshot.Prediction{{Horizon: time.Minute, Median: 70 << 30}}
	got := SubjectOf(s, snapshot.SeriesKey{GPUUUID: gpu.UUID, Instance: in.ID})
	if len(got.Predicted) != 1 || got.Predicted[0] != in.Predicted[0] || got.FullIn != in.FullIn || got.Capacity != in.Memory.Total {
		t.Errorf("%+v", got)
	}
}

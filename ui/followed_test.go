package ui

import (
	"testing"

	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

func TestTheGraphFollowsAnInstancesAlarm(t *testing.T) {
	s := snapshottest.DrawnBox()
	gpu := &s.GPUs[5]
	s.Alerts = []snapshot.Alert{{
		Kind: snapshot.AlertFullIn, Severity: snapshot.Urgent, GPU: 5, GPUUUID: gpu.UUID, Instance: gpu.Instances[1].ID,
		Note: "5:2 full in 4m10s", Message: "GPU 5:2 full in 4m10s (3m–6m)",
	}}
	got := followed(&state{shown: s})
	if want := (snapshot.SeriesKey{GPUUUID: gpu.UUID, Instance: gpu.Instances[1].ID}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestGraphFollowsTheUser: the graph shows the pinned series, else the focus, the cursor, or the alert.
func TestGraphFollowsTheUser(t *testing.T) {
	st := screenOf(snapshottest.DrawnBox(), 120, 40)
	uuid := func(i int) string { return st.shown.GPUs[i].UUID }
	if got := followed(st); got.GPUUUID != uuid(3) {
		t.Errorf("without a key it shows %+v, want the alarm's GPU", got)
	}
	st.shown.Alerts = nil
	if got := followed(st); got.GPUUUID != uuid(3) { // 72.9 of 79.6G
		t.Errorf("without an alarm it shows %+v, want the fullest GPU", got)
	}
	st = screenOf(snapshottest.DrawnBox(), 120, 40).at(1288410, 0)
	if got := followed(st); got.Row != st.Cursor.ID {
		t.Errorf("with a cursor it shows %+v", got)
	}
	st.Focus = &snapshot.Place{GPUUUID: uuid(5)}
	if got := followed(st); got.GPUUUID != uuid(5) || got.Row != (snapshot.RowID{}) {
		t.Errorf("with a focus it shows %+v", got)
	}
	st.pinned = &snapshot.SeriesKey{GPUUUID: uuid(0)}
	if got := followed(st); got != *st.pinned {
		t.Errorf("with a pin it shows %+v", got)
	}
}

package ui

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"vramscope/metric"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
	"vramscope/ui/table"
)

// aViewpoint is one in which nothing is as it is at the start.
func aViewpoint(box *snapshot.Snapshot) Viewpoint {
	leaking := snapshottest.RowID(box, snapshottest.Leaking)
	return Viewpoint{
		Cursor: &leaking, Line: 3, Tags: []snapshot.RowID{leaking}, Sort: "PID", Reversed: true, Filter: "carol", Find: "finetune",
		Mine: true, Tree: true, FocusGPU: leaking.GPUUUID, Focus: snapshot.InstanceID{MIG: true, GPU: 1}, Detail: true, Page: &table.Focus{GPUUUID: leaking.GPUUUID},
		Pinned: &snapshot.SeriesKey{Metric: metric.Allocated, GPUUUID: leaking.GPUUUID, Row: leaking},
		Window: 30 * time.Minute, Lines: true, Theme: "light", Mouse: true, HintOff: true, Silent: true, Columns: []string{"PID", "USED"},
	}
}

// TestViewpointIsComplete: no field of a viewpoint is lost, nor one added later.
func TestViewpointIsComplete(t *testing.T) {
	box := snapshottest.DrawnBox()
	want := aViewpoint(box)
	for i := range reflect.TypeFor[Viewpoint]().NumField() {
		if reflect.ValueOf(want).Field(i).IsZero() {
			t.Errorf("%s is as at the start", reflect.TypeFor[Viewpoint]().Field(i).Name)
		}
	}
	// Before there is anything to be shown: with it comes what is not there any more.
	m := newTestModel(t, nil, func(o *Options) { o.Resume = &want })
	if got := m.viewpoint(); !reflect.DeepEqual(got, want) {
		t.Errorf("it goes on from\n%+v, want\n%+v", got, want)
	}
	if got := newTestModel(t, nil, nil).viewpoint(); got.Theme == "" || got.Cursor != nil || got.Filter != "" {
		t.Errorf("a new screen's is %+v", got)
	}
}

func TestResumedScreenLooksTheSame(t *testing.T) {
	box := snapshottest.DrawnBox()
	before := newFlushModel(t, nil)
	before.onto(snapshottest.Leaking).draw()
	before.key("f")
	for _, letter := range "python" {
		before.key(string(letter))
	}
	before.key("enter", "r")
	before.shows("filter: python")
	view := before.viewpoint()
	after := newTestModel(t, box, func(o *Options) {
		o.Resume, o.History, o.Now = &view, snapshottest.History(box), func() time.Time { return before.now }
	})
	// The clock above and the alert and the keys below are of the moment.
	table := func(content string) string { return strings.Join(strings.Split(content, "\n")[1:22], "\n") }
	if got, want := table(after.content()), table(before.content()); !strings.Contains(want, ">") || got != want {
		t.Errorf("it shows\n%s\nwant\n%s", got, want)
	}
}

// TestInvalidViewpointIsDropped: a viewpoint of another version may be invalid.
func TestInvalidViewpointIsDropped(t *testing.T) {
	box := snapshottest.DrawnBox()
	gone := snapshottest.RowID(box, snapshottest.Leaking)
	gone.Process.PID = 1
	for name, view := range map[string]Viewpoint{
		"nothing":             {},
		"unheard-of":          {Sort: "ASTROLOGY", Theme: "plaid", Window: -time.Hour, Line: -4, Cursor: &gone},
		"a column of no sort": {Sort: "LAST 10m", Line: 1 << 40, Cursor: &gone, FocusGPU: "GPU-none", Tags: []snapshot.RowID{gone}},
		"a detail of nothing": {Detail: true, Cursor: &gone, Filter: strings.Repeat("\x1b[2J", 1000)},
	} {
		m := newTestModel(t, box, func(o *Options) { o.Resume = &view })
		if got := m.viewpoint(); got.Sort != "USED" || got.Theme != newTestModel(t, box, nil).viewpoint().Theme || got.Window < 0 {
			t.Errorf("%s: %+v", name, got)
		}
		m.draw()
		m.check()
	}
}

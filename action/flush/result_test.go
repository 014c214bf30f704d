package flush

import (
	"testing"
	"time"

	"vramscope/sampler/snapshot"
)

func TestOutcome(t *testing.T) {
	nothing := func(r *Result) { r.Devices[0].After = r.Devices[0].Before }
	more := func(r *Result) { r.Devices[0].After = r.Devices[0].Before + 1 }
	of := func(expected float64) func(*Result) { return func(r *Result) { r.Returnable = amount(expected) } }
	partly := func(r *Result) { r.Reason = "it took too long" }
	stopped := func(r *Result) { r.Stopped = true }
	dry := func(r *Result) { r.DryRun = true }
	rises := func(r *Result) { r.Devices[0].DriverAfter = known(75.6) }
	differs := func(r *Result) { r.Devices[0].DriverAfter = r.Devices[0].DriverBefore }
	for _, c := range []struct {
		want    string
		done    bool
		changes []func(*Result)
	}{
		{"flushed", true, nil},
		{"dry_run", true, []func(*Result){dry, nothing}},
		{"dry_run", true, []func(*Result){dry, differs}},
		{"stopped", false, []func(*Result){stopped, partly}},
		{"nothing_freed", false, []func(*Result){nothing}},
		{"nothing_freed", false, []func(*Result){more}},
		{"nothing_to_free", true, []func(*Result){nothing, of(0)}},
		{"nothing_to_free", true, []func(*Result){more, of(0)}},
		{"nothing_to_free", true, []func(*Result){nothing, of(0), rises}}, // others allocate
		{"differs", false, []func(*Result){differs, partly}},
		{"partly", true, []func(*Result){partly}},
	} {
		r := drawn()
		for _, change := range c.changes {
			change(&r)
		}
		if got := r.Outcome(); got != c.want || r.Done() != c.done {
			t.Errorf("%s, done %v; want %s, %v", got, r.Done(), c.want, c.done)
		}
	}
	for i, change := range []func(*Result){nothing, dry, stopped, partly} {
		r := drawn()
		if change(&r); len(r.Sentences("it")) != 1 {
			t.Errorf("%d: there is a shorter sentence: %q", i, r.Sentences("it"))
		}
	}
}

// TestFiguresOfPartsThatAreUnknown: a figure of the driver counts only if known before and after.
func TestFiguresOfPartsThatAreUnknown(t *testing.T) {
	for _, spoil := range []func(*Device){
		func(d *Device) { d.DriverBefore = snapshot.Bytes{} }, func(d *Device) { d.DriverAfter = snapshot.Bytes{} },
	} {
		r := drawn()
		spoil(&r.Devices[0])
		if from, to := r.fromTo(); from != r.Before() || to != r.After() || r.Differs() || r.DriverFreed().Known() {
			t.Errorf("from %v to %v, the driver's %v", from, to, r.DriverFreed())
		}
	}
	r := drawn()
	if r.lacksFigure() {
		t.Error("a figure is missing")
	}
	if r.Devices[0].DriverAfter = (snapshot.Bytes{}); !r.lacksFigure() {
		t.Error("no figure is missing")
	}
	if r.Devices[0].DriverBefore = (snapshot.Bytes{}); r.lacksFigure() {
		t.Error("a figure that never was is missing")
	}
}

func TestSumAddsUp(t *testing.T) {
	one, other := drawn(), drawn()
	one.Notes, other.Notes, other.Took = []string{"a"}, []string{"b"}, time.Second
	sum := Sum([]Result{one, other, drawn()})
	if sum.Returnable != 3*one.Returnable || sum.Took != time.Second+2*one.Took || len(sum.Devices) != 3 || len(sum.Notes) != 2 || sum.Freed() != 3*one.Freed() {
		t.Errorf("%+v", sum)
	}
}

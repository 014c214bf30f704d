package report

import (
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/recording"
	"vramscope/sampler/alert"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// alarm adds an alert that the first GPU will be full in a few minutes.
func (b box) alarm(minute int, row snapshot.RowID) {
	in := func(minutes time.Duration) quantity.Optional[time.Duration] {
		return quantity.From(minutes*time.Minute, quantity.Computed)
	}
	b.AddAlert(recording.Alert{Time: at(minute), Alert: snapshot.Alert{Kind: snapshot.AlertFullIn, GPUUUID: gpuA, Row: row}, Median: in(4), Earliest: in(3), Latest: in(5)})
}

func TestAlertsAreJudged(t *testing.T) {
	if rightWithin != 2*alert.FullWithin {
		t.Errorf("an alert is right within %v, and is raised below %v", rightWithin, alert.FullWithin)
	}
	for _, c := range []struct {
		name string
		make func(b box)
		want schema.ReportForecaster
	}{
		{"a hit", func(b box) {
			b.use(0, 34, 60, 50)
			b.alarm(30, snapshot.RowID{})
			b.use(34, 40, 79.5, 50)
			b.use(40, 60, 10, 50)
		}, schema.ReportForecaster{Alerts: 1, Hits: 1, Fills: quantity.From(1, quantity.Computed), IntervalHeld: 1, IntervalOf: 1}},
		{"a hit at the end of twice the time that raises an alert", func(b box) {
			b.use(0, 59, 60, 50)
			b.alarm(30, snapshot.RowID{})
			b.use(59, 60, 79.5, 50)
		}, schema.ReportForecaster{Alerts: 1, Hits: 1, Fills: quantity.From(1, quantity.Computed), IntervalOf: 1}},
		{"a hit that another alert repeats", func(b box) {
			b.use(0, 34, 60, 50)
			b.alarm(30, snapshot.RowID{})
			b.alarm(32, snapshot.RowID{})
			b.use(34, 60, 79.5, 50)
		}, schema.ReportForecaster{Alerts: 2, Hits: 2, Fills: quantity.From(1, quantity.Computed), IntervalHeld: 2, IntervalOf: 2}},
		{"out of memory on a GPU that is nearly full", func(b box) {
			b.use(0, 60, 75, 50)
			b.alarm(30, snapshot.RowID{})
			b.AddEvent(&snapshot.Event{Kind: snapshot.EventOutOfMemory, Time: at(38), GPUUUID: gpuA}, Stayed{})
		}, schema.ReportForecaster{Alerts: 1, Hits: 1, Fills: quantity.From(1, quantity.Computed), IntervalOf: 1}},
		{"out of memory by a limit", func(b box) {
			b.use(0, 60, 20, 50)
			b.AddEvent(&snapshot.Event{Kind: snapshot.EventOutOfMemory, Time: at(38), GPUUUID: gpuA}, Stayed{})
		}, schema.ReportForecaster{}},
		{"false", func(b box) {
			b.use(0, 60, 60, 50)
			b.alarm(30, snapshot.RowID{})
		}, schema.ReportForecaster{Alerts: 1, False: 1}},
		{"acted on by a flush", func(b box) {
			b.use(0, 60, 60, 50)
			b.alarm(30, snapshot.RowID{})
			b.AddEvent(&snapshot.Event{Time: at(31), Kind: snapshot.EventFlush, GPUUUID: gpuA}, Stayed{})
		}, schema.ReportForecaster{Alerts: 1, ActedOn: 1}},
		{"its process ended", func(b box) {
			b.use(0, 60, 60, 50)
			id := row(1, gpuA)
			p := processRow(id, "", "")
			p.Ended = at(32)
			b.AddProcess(p)
			b.alarm(30, id)
		}, schema.ReportForecaster{Alerts: 1, ActedOn: 1}},
		{"undecided at the end", func(b box) {
			b.use(0, 60, 60, 50)
			id := row(1, gpuA)
			b.AddProcess(processRow(id, "", "")) // the process still runs
			b.alarm(55, id)
		}, schema.ReportForecaster{Alerts: 1, Undecided: 1}},
		{"undecided in a gap", func(b box) {
			b.use(0, 33, 60, 50)
			b.use(36, 60, 60, 50)
			b.alarm(30, snapshot.RowID{})
		}, schema.ReportForecaster{Alerts: 1, Undecided: 1}},
		{"missed", func(b box) {
			b.use(0, 30, 60, 50)
			b.use(30, 60, 80, 50)
		}, schema.ReportForecaster{Fills: quantity.From(1, quantity.Computed), Missed: quantity.From(1, quantity.Computed)}},
		{"sudden", func(b box) {
			b.use(0, 30, 60, 50)
			b.started(1, 29, "alice", "serve.py")
			b.use(30, 60, 80, 50)
		}, schema.ReportForecaster{Fills: quantity.From(1, quantity.Computed), Sudden: quantity.From(1, quantity.Computed)}},
		{"full from the beginning", func(b box) { b.use(0, 60, 80, 50) }, schema.ReportForecaster{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBox("gpu", 1)
			c.make(b)
			got := b.report().Forecaster
			if (got.Hits > 0) != (got.MedianLead.Known()) {
				t.Errorf("%d hits, and a lead: %v", got.Hits, got.MedianLead.Known())
			}
			got.MedianLead, got.MedianError, got.OtherAlerts = snapshot.Float{}, snapshot.Float{}, nil
			if got.Alerts != c.want.Alerts || got.Hits != c.want.Hits || got.False != c.want.False || got.ActedOn != c.want.ActedOn ||
				got.Undecided != c.want.Undecided || got.Fills.Or(0) != c.want.Fills.Or(0) || got.Missed.Or(0) != c.want.Missed.Or(0) || got.Sudden.Or(0) != c.want.Sudden.Or(0) ||
				got.IntervalHeld != c.want.IntervalHeld || got.IntervalOf != c.want.IntervalOf {
				t.Errorf("%+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestTheLeadIsThatOfTheFirstAlert(t *testing.T) {
	b := newBox("gpu", 1)
	b.use(0, 34, 60, 50)
	b.alarm(32, snapshot.RowID{})
	b.alarm(30, snapshot.RowID{})
	b.use(34, 60, 79.5, 50)
	r := b.report()
	about(t, "lead", r.Forecaster.MedianLead, 240)
	about(t, "error", r.Forecaster.MedianError, 50) // the median of 0 % and 100 %
}

func TestOtherAlertsAreCountedByKind(t *testing.T) {
	b := newBox("gpu", 1)
	for i, kind := range []snapshot.AlertKind{snapshot.AlertLeak, snapshot.AlertLost, snapshot.AlertLeak} {
		b.AddAlert(recording.Alert{Time: at(i), Alert: snapshot.Alert{Kind: kind, GPUUUID: gpuA}})
	}
	got := b.report().Forecaster.OtherAlerts
	if len(got) != 2 || got[0] != (schema.ReportAlertKind{Kind: "leak", Count: 2}) {
		t.Errorf("%+v", got)
	}
}

func TestAnAlertOfTwoDaysIsOne(t *testing.T) {
	b := newBox("gpu", 48)
	for _, minute := range []int{1400, 1440} { // the next day's database has the alert again
		b.AddAlert(recording.Alert{Time: at(minute), Alert: snapshot.Alert{Since: at(1400), Kind: snapshot.AlertLeak, GPUUUID: gpuA}})
	}
	if got := b.report().Forecaster.OtherAlerts; len(got) != 1 || got[0].Count != 1 {
		t.Errorf("%+v", got)
	}
}

func TestFlushesSumWhatStayedFree(t *testing.T) {
	b := newBox("gpu", 1)
	flush := func(freed snapshot.Bytes, stayed ...snapshot.Bytes) {
		var stays Stayed
		copy(stays[:], stayed)
		b.AddEvent(&snapshot.Event{Time: at(1), Kind: snapshot.EventFlush, GPUUUID: gpuA, Bytes: freed}, stays)
	}
	flush(gib(10), gib(10), gib(4))
	flush(gib(6), gib(8)) // more stayed than was freed, because the process also shrank; it ended within ten minutes
	flush(snapshot.Bytes{})
	b.AddEvent(&snapshot.Event{Time: at(2), Kind: snapshot.EventSignal, GPUUUID: gpuA}, Stayed{})
	got := b.report().Flushes
	if got.Count != 3 || got.NotMeasured != 1 || got.FreedBytes.Or(0) != 16*quantity.GiB {
		t.Errorf("%+v", got)
	}
	for i, want := range []schema.ReportStaying{{AfterSeconds: 60, Flushes: 2, FreedBytes: 16 * quantity.GiB, StayedBytes: 16 * quantity.GiB},
		{AfterSeconds: 600, Flushes: 1, FreedBytes: 10 * quantity.GiB, StayedBytes: 4 * quantity.GiB}} {
		if got.StayedFree[i] != want {
			t.Errorf("%+v, want %+v", got.StayedFree[i], want)
		}
	}
}

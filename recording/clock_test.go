package recording

import (
	"testing"
	"time"

	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

func TestClockIsSet(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	q := newQuiet(t, t.TempDir(), Options{})
	q.now = q.now.Add(12 * time.Hour)
	early := q.record(300)
	q.now = q.now.Add(-200 * time.Second)
	again := q.record(300)
	q.now = q.now.Add(time.Hour)
	late := q.record(20)
	q.now = q.now.Add(-26 * time.Hour) // another day
	before := q.record(10)
	r := q.end()
	has(t, r, early[:99])
	has(t, r, again)
	has(t, r, late)
	has(t, r, before)
	last := again[len(again)-1]
	if then, ok := r.At(last.Time.Add(30 * time.Minute)); !ok || !then.Time.Equal(last.Time) {
		t.Errorf("in the gap: %v, %v, want the moment before it, %v", ok, then.Time, last.Time)
	}
	key := snapshot.SeriesKey{Metric: metric.Used, Row: q.snap.Rows[0].ID}
	for i, p := range r.Series(key, last.Time.Add(time.Second), late[0].Time.Add(-time.Second), 20) {
		if p.Known {
			t.Errorf("point %d of the gap is known: %+v", i, p)
		}
	}
	// A sample of the shadowed time would be older than its neighbours.
	points := r.Series(key, early[0].Time.Add(-time.Second), last.Time, len(early)+len(again))
	known := 0
	for _, p := range points {
		if p.Known {
			known++
		}
	}
	if known < 380 || known > 420 {
		t.Errorf("%d known points of %d", known, len(points))
	}
}

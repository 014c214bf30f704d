package recording

import (
	"testing"
	"time"

	"vramscope/sampler/snapshot"
)

type quiet struct {
	*synthetic
	t testing.TB
	w *Writer
}

func newQuiet(t testing.TB, directory string, options Options) *quiet {
	t.Helper()
	w, err := newWriter(directory, options)
	if err != nil {
		t.Fatal(err)
	}
	w.retry = 0
	return &quiet{newSynthetic(2, 3), t, w}
}

func (q *quiet) record(ticks int) (moments []*snapshot.Snapshot) {
	for range ticks {
		snap := q.next()
		q.w.write(tick{snap, nil})
		moments = append(moments, snap)
	}
	q.w.commit()
	return moments
}

func (q *quiet) end() *Recording {
	q.t.Helper()
	if err := q.w.end(); err != nil {
		q.t.Fatal(err)
	}
	return read(q.t, q.w.directory)
}

func has(t testing.TB, r *Recording, moments []*snapshot.Snapshot) {
	t.Helper()
	for _, want := range moments {
		got, ok := r.At(want.Time)
		if !ok || !got.Time.Equal(want.Time) || len(got.Rows) != len(want.Rows) {
			t.Fatalf("at %v: %v %+v", want.Time, ok, got)
		}
		for i := range want.Rows {
			w := &want.Rows[i]
			if g := got.Row(w.ID); g == nil || g.Used != w.Used || g.Allocated != w.Allocated {
				t.Fatalf("at %v: row %+v, want %+v", want.Time, g, w)
			}
		}
	}
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("it did not happen within a minute")
		}
	}
}

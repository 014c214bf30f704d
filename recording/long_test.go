package recording

import (
	"os"
	"slices"
	"testing"
	"time"

	"vramscope/internal/needs"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// fillFolder records a synthetic box, a tick a second, and returns the writer's time for a tick.
func fillFolder(t *testing.T, directory string, box *synthetic, ticks int) time.Duration {
	t.Helper()
	w, err := newWriter(directory, Options{MaxSize: 1 << 40, Keep: 1000 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var spent time.Duration
	for n := range ticks {
		snap := box.next()
		began := time.Now()
		w.write(tick{snap, nil})
		if n%60 == 0 { // a commit every two seconds would be 2.6 million fsyncs
			w.commit()
		}
		spent += time.Since(began)
	}
	if s := w.State(); s.Paused || s.Lost > 0 {
		t.Fatalf("%+v", s)
	}
	if err := w.end(); err != nil {
		t.Fatal(err)
	}
	return spent / time.Duration(ticks)
}

// wholeDay is a number of ticks that fit in one day. Ticks are 1.001 s apart on average.
const wholeDay = 86_300

// TestMonth: half of the seeks in 30 days of 100 ticks take at most 100 ms. With VRAMSCOPE_FULL two of
// the days are whole, with VRAMSCOPE_FULL=month all are. docs/measured/recording.md has its result.
func TestMonth(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	ticks := slices.Repeat([]int{100}, 30)
	if os.Getenv("VRAMSCOPE_FULL") != "" {
		ticks[10], ticks[29] = wholeDay, wholeDay
	}
	if os.Getenv("VRAMSCOPE_FULL") == "month" {
		ticks = slices.Repeat([]int{wholeDay}, 30)
	}
	seekTest(t, 8, 8, ticks)
}

// TestLargeDay records six hours of 16 GPUs with 64 processes each, with VRAMSCOPE_FULL=month a day.
func TestLargeDay(t *testing.T) {
	needs.Full(t)
	ticks := 21_600
	if os.Getenv("VRAMSCOPE_FULL") == "month" {
		ticks = wholeDay
	}
	seekTest(t, 16, 64, []int{ticks})
}

// seekTest records a number of ticks on each of some days, and looks back.
func seekTest(t *testing.T, gpus, rows int, days []int) {
	t.Helper()
	directory := t.TempDir()
	box := newSynthetic(gpus, rows)
	var write time.Duration
	var moments []*snapshot.Snapshot
	total := 0
	for i, ticks := range days {
		total += ticks
		box.now = newSynthetic(0, 0).now.Add(time.Duration(i) * 24 * time.Hour)
		write = max(write, fillFolder(t, directory, box, ticks))
		moments = append(moments, box.snap)
	}
	began := time.Now()
	r := read(t, directory)
	oldest, newest := r.Span()
	opened := time.Since(began)
	n := 60
	if os.Getenv("VRAMSCOPE_FULL") != "" {
		n = 2000
	}
	var seeks, graphs []time.Duration
	for range n {
		at := oldest.Add(time.Duration(box.random.Int64N(int64(newest.Sub(oldest)))))
		began := time.Now()
		then, ok := r.At(at)
		seeks = append(seeks, time.Since(began))
		if !ok || len(then.Rows) != gpus*rows {
			t.Fatalf("at %v: %v", at, ok)
		}
		key := snapshot.SeriesKey{Metric: metric.Used, GPUUUID: then.GPUs[0].UUID}
		began = time.Now()
		r.Series(key, at.Add(-time.Hour), at, 200)
		graphs = append(graphs, time.Since(began))
	}
	for i, want := range moments {
		got, ok := r.At(want.Time)
		w := &want.Rows[i%len(want.Rows)]
		if g := got.Row(w.ID); !ok || g == nil || len(got.Rows) != gpus*rows || g.Used != w.Used {
			t.Fatalf("at %v: %v, %d rows", want.Time, ok, len(got.Rows))
		}
	}
	slices.Sort(seeks)
	slices.Sort(graphs)
	size := sizeOf(r.all()...)
	t.Logf("%d days, %d ticks × %d×%d: %.1f MB, %.0f B a tick, at most %v a tick written; opened in %v; a seek: median %v, 99 %% %v, most %v; an hour's graph: median %v, 99 %% %v",
		len(days), total, gpus, rows, float64(size)/1e6, float64(size)/float64(total), write, opened,
		seeks[n/2], seeks[n*99/100], seeks[n-1], graphs[n/2], graphs[n*99/100])
	if limit := 100 * time.Millisecond; rows == 8 && seeks[n/2] > limit {
		t.Errorf("half of the seeks take more than %v", limit)
	}
}

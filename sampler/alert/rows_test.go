package alert

import (
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// peaks is a history in which each process has had a constant amount of allocated memory.
type peaks struct {
	snapshot.History
	of map[int]quantity.Bytes
}

func (h peaks) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	points := make([]snapshot.Point, buckets)
	for i := range points {
		at := from.Add(to.Sub(from) * time.Duration(i+1) / time.Duration(buckets))
		points[i] = snapshot.Point{Time: at, Min: int64(h.of[key.Row.Process.PID]), Max: int64(h.of[key.Row.Process.PID]), Known: true}
	}
	return points
}

// The advice names the process whose flush keeps more memory free, or no process if both take the
// memory back at their peaks.
func TestAdviceIsWhatStaysFree(t *testing.T) {
	s := newScene()
	s.row(1).ID.GPUUUID = "GPU-0"
	for i, cached := range []quantity.Bytes{10 * quantity.GiB, 4 * quantity.GiB} {
		p := s.row(i)
		p.Used, p.Allocated = bytes(20*quantity.GiB), bytes(8*quantity.GiB)
		p.Cached, p.Returnable = bytes(cached), bytes(cached)
	}
	s.gpu(0).FullIn = &snapshot.FullIn{Median: time.Minute}
	for _, c := range []struct {
		first, second quantity.Bytes // the peaks of the processes
		want          string
	}{
		{18 * quantity.GiB, 9 * quantity.GiB, "F on 101 keeps 3.0G free"},
		{10 * quantity.GiB, 9 * quantity.GiB, "F on 100 keeps 8.0G free"},
		{18 * quantity.GiB, 8 * quantity.GiB, "F on 101 keeps 4.00G free"},
		{18 * quantity.GiB, 12*quantity.GiB - 200*quantity.MiB, ""},
	} {
		s.evaluator.history = peaks{of: map[int]quantity.Bytes{100: c.first, 101: c.second}}
		s.ticks(3)
		if a := s.alert(snapshot.AlertFullIn); a == nil || a.Advice != c.want {
			t.Errorf("peaks of %v and %v: %+v", c.first, c.second, a)
		}
	}
}

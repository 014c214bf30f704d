package why

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

func (e *Evidence) read(history snapshot.History, oldest, newest time.Time) {
	to := e.Event.Time
	e.Recent = e.samples(history, quantity.Later(oldest, to.Add(-recentTime)), to, recentSamples)
	e.Long = e.samples(history, quantity.Later(oldest, to.Add(-longTime)), to, longSamples)
	begin := to
	if len(e.Recent) > 0 {
		begin = e.Recent[0].Time
	}
	e.Gap = oldest.Before(begin.Add(-lateTime))
	for i := range e.Neighbours {
		n := &e.Neighbours[i]
		n.Used = uses(history, n.Process.ID, e.Event.Row.GPUUUID, quantity.Later(oldest, to.Add(-recentTime)), quantity.Earlier(newest, to.Add(neighbourTime)), recentSamples)
		n.Before = uses(history, n.Process.ID, e.Event.Row.GPUUUID, quantity.Later(oldest, to.Add(-longTime)), quantity.Earlier(newest, to.Add(neighbourTime)), longSamples)
	}
	steps := history.Series(snapshot.SeriesKey{Metric: metric.Steps, Row: e.Event.Row}, quantity.Later(oldest, to.Add(-longTime)), to, longSamples)
	var first, last *snapshot.Point
	for i := range steps {
		if steps[i].Known {
			if first == nil {
				first = &steps[i]
			}
			last = &steps[i]
		}
	}
	if first != nil {
		e.Steps = quantity.From(last.Last-first.Min, quantity.Probe)
	}
	for _, point := range history.Series(snapshot.SeriesKey{Metric: metric.Used, Row: e.Event.Row}, to, quantity.Later(newest, to), 200) {
		if point.Known {
			e.Later = point.Time.Sub(to)
		}
	}
}

func (e *Evidence) samples(history snapshot.History, from, to time.Time, limit int) []Sample {
	buckets := min(limit, max(int(to.Sub(from)/time.Second), 1))
	if !to.After(from) {
		return nil
	}
	row := e.Event.Row
	points := func(id metric.ID) []snapshot.Point {
		return history.Series(snapshot.SeriesKey{Metric: id, Row: row}, from, to, buckets)
	}
	used, allocated := points(metric.Used), points(metric.Allocated)
	total := history.Series(snapshot.SeriesKey{Metric: metric.Used, GPUUUID: row.GPUUUID, Instance: row.Instance}, from, to, buckets)
	var samples []Sample
	seen := false
	for i, point := range total {
		if !point.Known {
			continue
		}
		s := Sample{Time: point.Time}
		switch {
		case used[i].Known:
			s.Used, seen = computed(quantity.Bytes(used[i].Max)), true
			s.Others = computed(quantity.Bytes(max(point.Last-used[i].Last, 0)))
		case !seen:
			s.Used, s.Others = computed(0), computed(quantity.Bytes(point.Last)) // the process had not started
		default:
			continue // the process was not read in this stretch
		}
		if allocated[i].Known {
			s.Allocated = computed(quantity.Bytes(allocated[i].Min))
		}
		samples = append(samples, s)
	}
	if !seen { // the driver does not report what the process uses
		for i := range samples {
			samples[i].Used, samples[i].Others = snapshot.Bytes{}, snapshot.Bytes{}
		}
	}
	return samples
}

func uses(history snapshot.History, id snapshot.RowID, uuid string, from, to time.Time, limit int) []Use {
	if !to.After(from) {
		return nil
	}
	buckets := min(limit, max(int(to.Sub(from)/time.Second), 1))
	total := history.Series(snapshot.SeriesKey{Metric: metric.Used, GPUUUID: uuid, Instance: id.Instance}, from, to, buckets)
	points := history.Series(snapshot.SeriesKey{Metric: metric.Used, Row: id}, from, to, buckets)
	var used []Use
	seen := false
	for i, point := range points {
		if point.Known {
			seen = true
			used = append(used, Use{point.Time, quantity.Bytes(point.Last)})
		} else if !seen && total[i].Known {
			used = append(used, Use{point.Time, 0})
		}
	}
	if !seen {
		return nil
	}
	return used
}

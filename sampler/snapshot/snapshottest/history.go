package snapshottest

import (
	"math"
	"time"

	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// History returns the last day of a box. The memory of each process follows its trend.
func History(s *snapshot.Snapshot) snapshot.History { return past{s} }

type past struct{ s *snapshot.Snapshot }

const remembered = 24 * time.Hour

func (h past) Span() (oldest, newest time.Time) { return h.s.Time.Add(-remembered), h.s.Time }

// At implements snapshot.History: the same box at another time, without alerts.
func (h past) At(t time.Time) (*snapshot.Snapshot, bool) {
	if t.Before(h.s.Time.Add(-remembered)) {
		return nil, false
	}
	then := *h.s
	then.Time, then.Past, then.Alerts = t, true, nil
	return &then, true
}

// Events implements snapshot.History, newest first.
func (h past) Events(limit int) []snapshot.Event {
	var events []snapshot.Event
	for i := range h.s.Ended {
		ended := &h.s.Ended[i]
		events = append(events, snapshot.Event{
			Time: ended.Ended, Kind: snapshot.EventEnded, GPU: ended.Last.GPU, GPUUUID: ended.Last.ID.GPUUUID, Row: ended.Last.ID,
			User: ended.Last.User, Name: ended.Last.Name, Message: "exited, used " + ended.Last.Used.Or(0).String(), Bytes: ended.Last.Used,
		})
	}
	if limit > 0 && limit < len(events) {
		return events[:limit]
	}
	return events
}

// Series implements snapshot.History for used and allocated memory.
func (h past) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	points := make([]snapshot.Point, max(buckets, 0))
	curve, ok := h.curve(key)
	if !ok || buckets <= 0 {
		return points
	}
	width := to.Sub(from) / time.Duration(buckets)
	const samples = 8 // of each bucket
	for i := range points {
		p := &points[i]
		p.Time = from.Add(time.Duration(i+1) * width)
		for j := range samples {
			age := h.s.Time.Sub(p.Time) + time.Duration(j)*width/samples
			v, ok := curve.at(age)
			if age < 0 || age > remembered || !ok {
				continue
			}
			amount := int64(v * float64(quantity.GiB))
			if !p.Known {
				p.Min, p.Max, p.Last = amount, amount, amount
			}
			p.Min, p.Max, p.Known = min(p.Min, amount), max(p.Max, amount), true
		}
	}
	return points
}

// curve is an amount over time.
type curve struct {
	trend snapshot.Trend
	now   float64 // GiB
	known bool    // false: the amount was known until the GPU was lost
}

func curveOf(trend snapshot.Trend, now quantity.Bytes, known bool) (curve, bool) {
	return curve{trend, float64(now) / float64(quantity.GiB), known}, true
}

// curve finds the curve of a series, false if there is none.
func (h past) curve(key snapshot.SeriesKey) (curve, bool) {
	if key.Metric != metric.Used && key.Metric != metric.Allocated {
		return curve{}, false
	}
	if key.Row == (snapshot.RowID{}) {
		for i := range h.s.GPUs {
			gpu := &h.s.GPUs[i]
			if gpu.UUID != key.GPUUUID {
				continue
			}
			trend := snapshot.TrendSteady
			if gpu.FullIn != nil {
				trend = snapshot.TrendLeak
			}
			return curveOf(trend, gpu.Memory.Used.Or(gpu.LastUsed.Or(0)), gpu.Memory.Used.Known())
		}
		return curve{}, false
	}
	for i := range h.s.Rows {
		if p := &h.s.Rows[i]; p.ID == key.Row {
			amount := p.Used
			if key.Metric == metric.Allocated {
				amount = p.Allocated
			}
			if !amount.Known() && key.Metric == metric.Allocated {
				return curve{}, false
			}
			return curveOf(p.Trend, amount.Or(41*quantity.GiB), amount.Known())
		}
	}
	return curve{}, false
}

// at returns the amount at an age in GiB, or false if it was unknown.
func (c curve) at(age time.Duration) (float64, bool) {
	const lost = 134 * time.Second
	if !c.known && age < lost {
		return 0, false
	}
	switch c.trend {
	case snapshot.TrendLeak:
		// 25 MiB a second, taken in segments of 1.5 GiB.
		return max(c.now-math.Floor(25.0/1024*age.Seconds()/1.5)*1.5, 0), true
	case snapshot.TrendGrowing:
		return max(c.now-age.Seconds()*0.005, 0), true
	case snapshot.TrendSawtooth:
		// An epoch of two minutes: full at its end, a fifth less at its start.
		const epoch = 2 * time.Minute
		return c.now * (1 - 0.2*float64(age%epoch)/float64(epoch)), true
	default:
		return c.now, true
	}
}

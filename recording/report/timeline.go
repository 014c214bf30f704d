package report

import (
	"cmp"
	"math"
	"time"

	"vramscope/internal/quantity"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// mostBuckets limits a timeline's buckets, each of whole minutes, to a chart's columns.
const mostBuckets = 240

type timeline struct {
	from    time.Time
	length  time.Duration // of a bucket
	buckets []bucket
}

type bucket struct {
	memory
	usedMax snapshot.Bytes
}

func newTimeline(q Question) timeline {
	length := (q.To.Sub(q.From)/mostBuckets + time.Minute - 1).Truncate(time.Minute)
	length = max(length, time.Minute)
	n := int((q.To.Sub(q.From) + length - 1) / length)
	return timeline{q.From, length, make([]bucket, n)}
}

func (l *timeline) add(m *recording.GPUMinute) {
	b := &l.buckets[min(int(m.Time.Sub(l.from)/l.length), len(l.buckets)-1)]
	b.add(m, snapshot.Bytes{})
	if v, ok := m.Used.Max.Value(); ok && v >= b.usedMax.Or(0) {
		b.usedMax = m.Used.Max
	}
}

func (l *timeline) document() []schema.ReportPoint {
	points := []schema.ReportPoint{}
	for i := range l.buckets {
		b := &l.buckets[i]
		if b.recorded == 0 {
			continue
		}
		mean := func(p *part) snapshot.Bytes {
			if !p.known {
				return snapshot.Bytes{}
			}
			return quantity.From(quantity.Bytes(math.Round(p.gibHours/cmp.Or(b.measured, b.recorded).Hours()*float64(quantity.GiB))), quantity.Computed)
		}
		points = append(points, schema.ReportPoint{
			Time: schema.Time(l.from.Add(time.Duration(i) * l.length)), RecordedSeconds: b.recorded.Seconds(),
			UsedBytes: mean(&b.used), UsedMaxBytes: b.usedMax, AllocatedBytes: mean(&b.allocated), CachedBytes: mean(&b.cached),
			FragmentedBytes: mean(&b.fragmented), OtherBytes: mean(&b.other), UnknownBytes: mean(&b.unknown), UtilizationPercent: b.load.mean(),
		})
	}
	return points
}

package gather

import (
	"cmp"
	"time"

	"vramscope/action"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/recording"
	evaluation "vramscope/recording/report"
	"vramscope/sampler/snapshot"
)

// Report reads a period of a recording, a day at a time, as a month has a million
// rows, and this user's own flushes from the audit log.
func Report(r *recording.Recording, q evaluation.Question, log *action.Log) (*evaluation.Builder, error) {
	b := evaluation.New(q)
	sessions, err := r.Sessions(q.From, q.To)
	gpus, failed := r.GPUs(q.From, q.To)
	processes, unread := r.Processes(q.From, q.To)
	if err := cmp.Or(err, failed, unread); err != nil {
		return nil, err
	}
	for _, s := range sessions {
		b.AddSession(s.Host, s.Simulated)
	}
	for _, g := range gpus {
		b.AddGPU(g)
	}
	for i := range processes {
		b.AddProcess(&processes[i])
	}
	sums, err := unwritten(r, sessions)
	if err != nil {
		return nil, err
	}
	for from := q.From; from.Before(q.To); {
		next := from.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
		if next.After(q.To) {
			next = q.To
		}
		if err := addDay(b, r, from, next, sums); err != nil {
			return nil, err
		}
		from = next
	}
	if err := addFlushes(b, r, processes, gpus, log); err != nil {
		return nil, err
	}
	return b, nil
}

// fromSamples sums the samples themselves where the recorder left no sums: in the minutes in which
// it ended, was killed, or is still running.
type fromSamples struct {
	minutes map[minuteOf]*recording.GPUMinute
	fives   map[fiveOf]*recording.Process5Min
}

type minuteOf struct {
	uuid string
	from int64
}

type fiveOf struct {
	row  snapshot.RowID
	from int64
}

// unwritten sums the last five minutes of each session.
func unwritten(r *recording.Recording, sessions []recording.Session) (*fromSamples, error) {
	s := &fromSamples{make(map[minuteOf]*recording.GPUMinute), make(map[fiveOf]*recording.Process5Min)}
	done := make(map[time.Time]bool) // a recorder that is killed again and again
	for i := range sessions {
		begin := sessions[i].To.UTC().Truncate(fiveMinutes)
		if done[begin] {
			continue
		}
		done[begin] = true
		minutes, fives, err := recording.Summed(func(add func(*snapshot.Snapshot)) error {
			return Moments(r, begin.Add(-time.Minute), begin.Add(fiveMinutes), add)
		})
		if err != nil {
			return nil, err
		}
		for i := range minutes {
			m := &minutes[i]
			key := minuteOf{m.GPUUUID, m.Time.UnixNano()}
			if was := s.minutes[key]; was == nil || was.Covered < m.Covered {
				s.minutes[key] = m
			}
		}
		for i := range fives {
			f := &fives[i]
			key := fiveOf{f.Row, f.Time.UnixNano()}
			if was := s.fives[key]; was == nil || was.Covered < f.Covered {
				s.fives[key] = f
			}
		}
	}
	return s, nil
}

func addDay(b *evaluation.Builder, r *recording.Recording, from, to time.Time, sums *fromSamples) error {
	err := r.GPUMinutes(from, to, func(m *recording.GPUMinute) {
		key := minuteOf{m.GPUUUID, m.Time.UnixNano()}
		if sum := sums.minutes[key]; sum != nil && m.Covered < sum.Covered {
			return
		}
		delete(sums.minutes, key)
		b.AddMinute(m)
	})
	if err != nil {
		return err
	}
	for _, m := range sums.minutes {
		if !m.Time.Before(from) && m.Time.Before(to) {
			b.AddMinute(m)
		}
	}
	counted, err := stepsOf(r, from, to)
	if err != nil {
		return err
	}
	from5 := from.Truncate(fiveMinutes) // of the first the report takes its share
	err = r.Process5Min(from5, to, func(f *recording.Process5Min) {
		key := fiveOf{f.Row, f.Time.UnixNano()}
		if sum := sums.fives[key]; sum != nil && f.Covered < sum.Covered {
			sum.AllocRetries = f.AllocRetries // which samples do not have
			return
		}
		delete(sums.fives, key)
		b.AddFiveMinutes(f, counted.at(f.Row, f.Time))
	})
	if err != nil {
		return err
	}
	for _, f := range sums.fives {
		if !f.Time.Before(from5) && f.Time.Before(to) {
			b.AddFiveMinutes(f, counted.at(f.Row, f.Time))
		}
	}
	return addEvents(b, r, from, to)
}

// steps are the counts of steps at the end of each five minutes.
type steps struct {
	from   time.Time
	counts map[snapshot.RowID][]snapshot.Point
}

const fiveMinutes = 5 * time.Minute

// stepsOf reads the steps of the processes that are counted.
func stepsOf(r *recording.Recording, from, to time.Time) (*steps, error) {
	counted, err := r.Recorded(metric.Steps, from, to)
	if err != nil {
		return nil, err
	}
	s := &steps{from.Truncate(fiveMinutes), make(map[snapshot.RowID][]snapshot.Point)}
	n := int((to.Sub(s.from) + fiveMinutes - 1) / fiveMinutes)
	for row := range counted {
		key := snapshot.SeriesKey{Metric: metric.Steps, GPUUUID: row.GPUUUID, Instance: row.Instance, Row: row}
		s.counts[row] = r.Series(key, s.from, s.from.Add(time.Duration(n)*fiveMinutes), n)
	}
	return s, nil
}

func (s *steps) at(row snapshot.RowID, t time.Time) evaluation.Count {
	points := s.counts[row]
	i := int(t.Sub(s.from) / fiveMinutes)
	if i < 0 || i >= len(points) || !points[i].Known {
		return evaluation.Count{}
	}
	return quantity.From(points[i].Last, quantity.Probe)
}

func addEvents(b *evaluation.Builder, r *recording.Recording, from, to time.Time) error {
	alerts, err := r.Alerts(from, to)
	events, failed := r.EventRows(from, to)
	for i := range alerts {
		b.AddAlert(alerts[i])
	}
	for i := range events {
		b.AddEvent(&events[i], stayed(r, &events[i]))
	}
	return cmp.Or(err, failed)
}

// stayed is what a flushed process had not taken again: how far its memory was
// below what it was before the flush, up to what was freed.
func stayed(r *recording.Recording, a *recording.EventRow) (out evaluation.Stayed) {
	freed, ok := a.Bytes.Value()
	if !ok || a.Kind != snapshot.EventFlush || a.Row == (snapshot.RowID{}) {
		return out
	}
	used := func(at time.Time) (quantity.Bytes, bool) {
		// A sample is there every second, or at the monitor's interval.
		const within = 15 * time.Second
		points := r.Series(snapshot.SeriesKey{Metric: metric.Used, GPUUUID: a.GPUUUID, Row: a.Row}, at.Add(-within), at, 1)
		return quantity.Bytes(points[0].Last), points[0].Known
	}
	after, known := used(a.Time.Add(5 * time.Second))
	if !known {
		return out
	}
	for i, later := range evaluation.Stays {
		if then, known := used(a.Time.Add(later)); known {
			out[i] = quantity.From(min(max(freed-max(then-after, 0), 0), freed), quantity.Computed)
		}
	}
	return out
}

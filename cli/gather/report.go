package gather

import (
	"cmp"
	"time"

	"vramscope/action"
	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/metric"
	"vramscope/recording"
	evaluation "vramscope/recording/report"
	"vramscope/sampler/snapshot"
)

// Report reads a period of a recording, and this user's flushes from the audit log. It reads a day at
// a time, because a month has a million rows.
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
	minutes, fives, err := unwritten(r, sessions)
	if err != nil {
		return nil, err
	}
	for from := q.From; from.Before(q.To); {
		next := quantity.Earlier(from.UTC().Truncate(24*time.Hour).Add(24*time.Hour), q.To)
		if err := addDay(b, r, from, next, &minutes, &fives); err != nil {
			return nil, err
		}
		from = next
	}
	if err := addFlushes(b, r, processes, gpus, log); err != nil {
		return nil, err
	}
	return b, nil
}

// sums holds sums computed from samples, for times whose sums are not recorded, or of only a part of the time, because
// the recorder ended, was killed or still runs.
type sums[Row any] struct {
	all map[sumKey]*Row
	of  func(*Row) (key sumKey, covered time.Duration)
}

type sumKey struct {
	row  snapshot.RowID // for a GPU, only the UUID is set
	from int64
}

// add adds sums. If there are two for the same time, it keeps the one that covers more of that time.
func (s *sums[Row]) add(some []Row) {
	for i := range some {
		if key, covered := s.of(&some[i]); s.all[key] == nil || !s.coversMore(key, covered) {
			s.all[key] = &some[i]
		}
	}
}

func (s *sums[Row]) coversMore(key sumKey, covered time.Duration) bool {
	_, more := s.of(s.all[key])
	return more > covered
}

// between visits the recorded rows of a time, in order. It visits a computed sum in place of a row that covers less or
// is missing.
func (s *sums[Row]) between(from, to time.Time, rows func(visit func(*Row)) error, visit func(*Row)) error {
	var waiting []sumKey
	for key := range s.all {
		if key.from >= from.UnixNano() && key.from < to.UnixNano() {
			waiting = append(waiting, key)
		}
	}
	sorted.Stable(waiting, func(a, b sumKey) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.row.GPUUUID, b.row.GPUUUID), cmp.Compare(a.row.Process.PID, b.row.Process.PID))
	})
	before := func(next int64) {
		for ; len(waiting) > 0 && waiting[0].from < next; waiting = waiting[1:] {
			if sum := s.all[waiting[0]]; sum != nil {
				visit(sum)
			}
		}
	}
	err := rows(func(row *Row) {
		key, covered := s.of(row)
		before(key.from)
		if s.all[key] == nil || !s.coversMore(key, covered) {
			delete(s.all, key)
			visit(row)
		}
	})
	before(to.UnixNano())
	return err
}

// unwritten sums the last five minutes of each session.
func unwritten(r *recording.Recording, sessions []recording.Session) (minutes sums[recording.GPUMinute], fives sums[recording.Process5Min], err error) {
	minutes = sums[recording.GPUMinute]{map[sumKey]*recording.GPUMinute{}, func(m *recording.GPUMinute) (sumKey, time.Duration) {
		return sumKey{snapshot.RowID{GPUUUID: m.GPUUUID}, m.Time.UnixNano()}, m.Covered
	}}
	fives = sums[recording.Process5Min]{map[sumKey]*recording.Process5Min{}, func(f *recording.Process5Min) (sumKey, time.Duration) {
		return sumKey{f.Row, f.Time.UnixNano()}, f.Covered
	}}
	done := make(map[time.Time]bool) // a recorder that is killed again and again has several sessions in five minutes
	for i := range sessions {
		begin := sessions[i].To.UTC().Truncate(fiveMinutes)
		if done[begin] {
			continue
		}
		done[begin] = true
		m, f, err := recording.Summed(func(add func(*snapshot.Snapshot)) error {
			return r.Moments(begin.Add(-time.Minute), begin.Add(fiveMinutes), add)
		})
		if err != nil {
			return minutes, fives, err
		}
		minutes.add(m)
		fives.add(f)
	}
	return minutes, fives, nil
}

func addDay(b *evaluation.Builder, r *recording.Recording, from, to time.Time, minutes *sums[recording.GPUMinute], fives *sums[recording.Process5Min]) error {
	err := minutes.between(from, to, func(visit func(*recording.GPUMinute)) error { return r.GPUMinutes(from, to, visit) }, b.AddMinute)
	if err != nil {
		return err
	}
	counted, err := stepsOf(r, from, to)
	if err != nil {
		return err
	}
	from5 := from.Truncate(fiveMinutes) // the report counts a share of the first five minutes
	err = fives.between(from5, to, func(visit func(*recording.Process5Min)) error {
		return r.Process5Min(from5, to, func(f *recording.Process5Min) {
			key, _ := fives.of(f)
			if sum := fives.all[key]; sum != nil {
				sum.AllocRetries = f.AllocRetries // samples do not have this count
			}
			visit(f)
		})
	}, func(f *recording.Process5Min) { b.AddFiveMinutes(f, counted(f.Row, f.Time)) })
	if err != nil {
		return err
	}
	return addEvents(b, r, from, to)
}

const fiveMinutes = 5 * time.Minute

// stepsOf returns how many steps each process had counted at the end of each five minutes.
func stepsOf(r *recording.Recording, from, to time.Time) (func(snapshot.RowID, time.Time) evaluation.Count, error) {
	counted, err := r.Recorded(metric.Steps, from, to)
	if err != nil {
		return nil, err
	}
	from, counts := from.Truncate(fiveMinutes), make(map[snapshot.RowID][]snapshot.Point)
	n := int((to.Sub(from) + fiveMinutes - 1) / fiveMinutes)
	for row := range counted {
		key := snapshot.SeriesKey{Metric: metric.Steps, GPUUUID: row.GPUUUID, Instance: row.Instance, Row: row}
		counts[row] = r.Series(key, from, from.Add(time.Duration(n)*fiveMinutes), n)
	}
	return func(row snapshot.RowID, t time.Time) evaluation.Count {
		points, i := counts[row], int(t.Sub(from)/fiveMinutes)
		if i < 0 || i >= len(points) || !points[i].Known {
			return evaluation.Count{}
		}
		return quantity.From(points[i].Last, quantity.Probe)
	}, nil
}

func addEvents(b *evaluation.Builder, r *recording.Recording, from, to time.Time) error {
	alerts, err := r.Alerts(from, to)
	events, failed := r.EventsBetween(from, to)
	for i := range alerts {
		b.AddAlert(alerts[i])
	}
	for i := range events {
		b.AddEvent(&events[i], stayed(r, &events[i]))
	}
	return cmp.Or(err, failed)
}

// stayed returns how much of the memory that a flush freed stayed free, at each time of
// evaluation.Stays: the freed memory less the growth of the process since.
func stayed(r *recording.Recording, a *snapshot.Event) (out evaluation.Stayed) {
	freed, ok := a.Bytes.Value()
	if !ok || a.Kind != snapshot.EventFlush || a.Row == (snapshot.RowID{}) {
		return out
	}
	used := func(at time.Time) (quantity.Bytes, bool) {
		const within = 15 * time.Second // an older sample says nothing about the time
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

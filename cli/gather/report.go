package gather

import (
	"time"

	"vramscope/action"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
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
	if err != nil {
		return nil, err
	}
	for _, s := range sessions {
		b.AddSession(s.Host, s.Simulated)
	}
	gpus, err := r.GPUs(q.From, q.To)
	if err != nil {
		return nil, err
	}
	for _, g := range gpus {
		m := snapshot.Memory{Total: g.Total, Reserved: g.Reserved}
		b.AddGPU(evaluation.GPU{UUID: g.UUID, Index: g.Index, Name: g.Name, Capacity: m.Capacity()})
	}
	processes, err := r.Processes(q.From, q.To)
	if err != nil {
		return nil, err
	}
	for i := range processes {
		b.AddProcess(processOf(&processes[i]))
	}
	sums, err := unwritten(r, q.From, q.To)
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

func processOf(p *recording.ProcessRow) evaluation.Process {
	job := ""
	if p.Job.ID != "" {
		job = p.Job.Kind + " " + p.Job.ID
	}
	command := ""
	if len(p.Command) > 0 {
		command = text.Clean(process.ShortCommand(p.Command, p.Name))
	}
	return evaluation.Process{
		ID: p.ID, Started: p.Started, User: p.User, Name: p.Name, Command: command, Job: job, First: p.First, Ended: p.Ended,
		Watched: p.OutOfMemoryCount.Known(),
	}
}

// fromSamples are sums of samples, which are taken where a recorder has written none, or
// less: of the minutes in which it ends, runs or is killed.
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

// unwritten sums the last five minutes of each session that ends in [from, to).
func unwritten(r *recording.Recording, from, to time.Time) (*fromSamples, error) {
	s := &fromSamples{make(map[minuteOf]*recording.GPUMinute), make(map[fiveOf]*recording.Process5Min)}
	sessions, err := r.Sessions(from, to)
	if err != nil {
		return nil, err
	}
	done := make(map[time.Time]bool) // a recorder that is killed again and again
	for i := range sessions {
		begin := sessions[i].To.UTC().Truncate(fiveMinutes)
		if done[begin] {
			continue
		}
		done[begin] = true
		last := new(recording.Running)
		if err := Moments(r, begin.Add(-time.Minute), begin.Add(fiveMinutes), last.Add); err != nil {
			return nil, err
		}
		last.GPUMinutes(func(m *recording.GPUMinute) {
			key := minuteOf{m.GPUUUID, m.Time.UnixNano()}
			if was := s.minutes[key]; was == nil || was.Covered < m.Covered {
				s.minutes[key] = m
			}
		})
		last.Process5Min(func(f *recording.Process5Min) {
			key := fiveOf{f.Row(), f.Time.UnixNano()}
			if was := s.fives[key]; was == nil || was.Covered < f.Covered {
				s.fives[key] = f
			}
		})
	}
	return s, nil
}

func addDay(b *evaluation.Builder, r *recording.Recording, from, to time.Time, sums *fromSamples) error {
	addMinute := func(m *recording.GPUMinute) {
		b.AddMinute(&evaluation.Minute{
			Time: m.Time, GPUUUID: m.GPUUUID, Covered: m.Covered,
			Used: spread(m.Used), Free: mean(m.Free), Allocated: mean(m.Allocated), Cached: mean(m.Cached), Fragmented: mean(m.Fragmented),
			Other: mean(m.Other), Unknown: mean(m.Unknown), Utilization: percents(m.Utilization),
		})
	}
	err := r.GPUMinutes(from, to, func(m *recording.GPUMinute) {
		key := minuteOf{m.GPUUUID, m.Time.UnixNano()}
		if sum := sums.minutes[key]; sum != nil && m.Covered < sum.Covered {
			return
		}
		delete(sums.minutes, key)
		addMinute(m)
	})
	if err != nil {
		return err
	}
	for _, m := range sums.minutes {
		if !m.Time.Before(from) && m.Time.Before(to) {
			addMinute(m)
		}
	}
	counted, err := stepsOf(r, from, to)
	if err != nil {
		return err
	}
	from5 := from.Truncate(fiveMinutes) // of the first the report takes its share
	addFiveMinutes := func(f *recording.Process5Min) {
		retries := quantity.From(int(f.AllocRetries.Or(0)), f.AllocRetries.Source())
		b.AddFiveMinutes(&evaluation.FiveMinutes{
			Time: f.Time, Process: f.Row(), Covered: f.Covered,
			Used: spread(f.Used), Allocated: mean(f.Allocated), Cached: mean(f.Cached), Fragmented: mean(f.Fragmented), Other: mean(f.Other),
			Utilization: percents(f.Utilization), Retries: retries, Steps: counted.at(f.Row(), f.Time),
		})
	}
	err = r.Process5Min(from5, to, func(f *recording.Process5Min) {
		key := fiveOf{f.Row(), f.Time.UnixNano()}
		if sum := sums.fives[key]; sum != nil && f.Covered < sum.Covered {
			sum.AllocRetries = f.AllocRetries // which samples do not have
			return
		}
		delete(sums.fives, key)
		addFiveMinutes(f)
	})
	if err != nil {
		return err
	}
	for _, f := range sums.fives {
		if !f.Time.Before(from5) && f.Time.Before(to) {
			addFiveMinutes(f)
		}
	}
	return addEvents(b, r, from, to)
}

// steps are the counts of steps at the end of each five minutes.
type steps struct {
	from time.Time
	of   map[snapshot.RowID][]snapshot.Point
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
		s.of[row] = r.Series(key, s.from, s.from.Add(time.Duration(n)*fiveMinutes), n)
	}
	return s, nil
}

func (s *steps) at(row snapshot.RowID, t time.Time) snapshot.Int {
	points := s.of[row]
	i := int(t.Sub(s.from) / fiveMinutes)
	if i < 0 || i >= len(points) || !points[i].Known {
		return snapshot.Int{}
	}
	return quantity.From(int(points[i].Last), quantity.Probe)
}

func addEvents(b *evaluation.Builder, r *recording.Recording, from, to time.Time) error {
	ooms, err := r.OOMs(from, to)
	if err != nil {
		return err
	}
	for i := range ooms {
		b.AddOutOfMemory(evaluation.OutOfMemory{Time: ooms[i].Time, GPUUUID: ooms[i].GPUUUID, Process: ooms[i].Row(), Message: ooms[i].Message})
	}
	if err := addAlerts(b, r, from, to); err != nil {
		return err
	}
	actions, err := r.Actions(from, to)
	if err != nil {
		return err
	}
	for i := range actions {
		a := &actions[i]
		b.AddAction(evaluation.Action{Time: a.Time, Kind: a.Kind, GPUUUID: a.GPUUUID, Process: a.Row(), Message: a.Message, Freed: a.Freed, Stayed: stayed(r, a)})
	}
	events, err := r.EventRows(from, to)
	if err != nil {
		return err
	}
	for i := range events {
		b.AddEvent(&snapshot.Event{Time: events[i].Time, Kind: events[i].Kind, GPUUUID: events[i].GPUUUID, Message: events[i].Message})
	}
	return nil
}

func addAlerts(b *evaluation.Builder, r *recording.Recording, from, to time.Time) error {
	forecasts, err := r.Forecasts(from, to)
	if err != nil {
		return err
	}
	full := map[int64]*snapshot.FullIn{} // by alert: this is one day
	for i := range forecasts {
		f := &forecasts[i]
		if median, ok := f.FullMedian.Value(); ok {
			full[f.Alert] = &snapshot.FullIn{Median: median, Earliest: f.FullEarliest.Or(0), Latest: f.FullLatest.Or(0)}
		}
	}
	alerts, err := r.Alerts(from, to)
	if err != nil {
		return err
	}
	for i := range alerts {
		a := &alerts[i]
		b.AddAlert(evaluation.Alert{
			Time: a.Time, Since: a.Since, Kind: a.Kind, GPUUUID: a.GPUUUID, Instance: a.Instance, Process: a.Row(), Message: a.Message,
			FullIn: full[a.ID],
		})
	}
	return nil
}

// stayed is what a flushed process had not taken again: how far its memory was
// below what it was before the flush, up to what was freed.
func stayed(r *recording.Recording, a *recording.Action) (out [len(evaluation.Stays)]snapshot.Bytes) {
	freed, ok := a.Freed.Value()
	if !ok || a.Kind != snapshot.EventFlush || a.Process == nil {
		return out
	}
	used := func(at time.Time) (quantity.Bytes, bool) {
		// A sample is there every second, or at the monitor's interval.
		const within = 15 * time.Second
		points := r.Series(snapshot.SeriesKey{Metric: metric.Used, GPUUUID: a.GPUUUID, Row: a.Row()}, at.Add(-within), at, 1)
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

func spread(s recording.Sum) evaluation.Spread {
	return evaluation.Spread{Min: s.Min, Mean: s.Mean, Max: s.Max}
}

func mean(v snapshot.Bytes) evaluation.Spread { return evaluation.Spread{Mean: v} }

func percents(u recording.Utilization) evaluation.Percents {
	return evaluation.Percents{Mean: u.Mean, Max: quantity.From(float64(u.Max.Or(0)), u.Max.Source())}
}

package gather

import (
	"errors"
	"fmt"
	"time"

	"vramscope/forecast/backtest"
	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
)

// Moments visits every recorded moment in [from, to) as a snapshot, from the
// samples alone: At, which reads everything else too, would take a hundred times as
// long. The descriptions of the GPUs are renewed every describeEvery.
func Moments(r *recording.Recording, from, to time.Time, visit func(*snapshot.Snapshot)) error {
	m := moments{recording: r, visit: visit}
	err := r.Readings(from, to, func(reading *recording.Reading) error {
		if !reading.Time.Equal(m.at) {
			m.finish()
			m.begin(reading)
		}
		m.add(reading)
		return nil
	})
	m.finish()
	return err
}

// describeEvery is how long a description of the GPUs is used. It says which ones are lost.
const describeEvery = 5 * time.Minute

type moments struct {
	recording *recording.Recording
	visit     func(*snapshot.Snapshot)

	at        time.Time
	base      *snapshot.Snapshot
	described time.Time
	gpus      map[string]func(metric.ID) snapshot.Float
	instances map[string]map[snapshot.InstanceID]snapshot.Float
	held      map[string]*snapshot.JobAllocation
	rows      []snapshot.Process
	simulated bool
}

func (m *moments) begin(reading *recording.Reading) {
	m.at, m.simulated = reading.Time, reading.Simulated
	m.gpus = make(map[string]func(metric.ID) snapshot.Float)
	m.instances = make(map[string]map[snapshot.InstanceID]snapshot.Float)
	m.held = make(map[string]*snapshot.JobAllocation)
	m.rows = nil
	if m.base == nil || m.at.Sub(m.described) >= describeEvery {
		if base, ok := m.recording.At(m.at); ok {
			m.base = base
		}
		m.described = m.at
	}
}

func (m *moments) add(reading *recording.Reading) {
	value := valuesOf(reading)
	switch {
	case reading.Process != nil && reading.Process.JobAllocation() != nil:
		m.held[reading.GPUUUID] = reading.Process.JobAllocation()
	case reading.Process != nil:
		p := reading.Process.WithoutFigures()
		p.SetFigures(value)
		if g := m.base.GPU(p.ID.GPUUUID); g != nil {
			p.GPU = g.Index
		}
		m.rows = append(m.rows, p)
	case reading.Instance.MIG:
		if m.instances[reading.GPUUUID] == nil {
			m.instances[reading.GPUUUID] = make(map[snapshot.InstanceID]snapshot.Float)
		}
		m.instances[reading.GPUUUID][reading.Instance] = value(metric.Used)
	default:
		m.gpus[reading.GPUUUID] = value
	}
}

// valuesOf copies the values of a reading, which is valid only during the visit.
func valuesOf(reading *recording.Reading) func(metric.ID) snapshot.Float {
	var all [metric.Count]snapshot.Float
	for id := range metric.Count {
		if v, ok := reading.Value(id); ok {
			all[id] = quantity.From(float64(v), metric.Table[id].Source)
		}
	}
	return func(id metric.ID) snapshot.Float { return all[id] }
}

func (m *moments) finish() {
	if m.at.IsZero() || m.base == nil {
		return
	}
	snap := &snapshot.Snapshot{
		Time: m.at, Past: true, Simulated: m.simulated, Host: m.base.Host, ProbeSeen: true, Rows: m.rows,
		Driver: snapshot.Driver{State: snapshot.DriverOK}, Interval: m.base.Interval,
	}
	snapshot.SortRows(snap.Rows)
	for i := range m.base.GPUs {
		g := m.base.GPUs[i]
		value, ok := m.gpus[g.UUID]
		if !ok {
			continue // it did not answer
		}
		g.SetFigures(snap.Rows, value, func(id snapshot.InstanceID) snapshot.Float { return m.instances[g.UUID][id] })
		g.Allocation = m.held[g.UUID]
		snap.GPUs = append(snap.GPUs, g)
	}
	m.visit(snap)
}

// Trace returns the used memory of each process of a recording, with the capacity of its GPU.
func Trace(r *recording.Recording) (*backtest.Trace, error) {
	oldest, newest := r.Span()
	end := newest.Add(1)
	gpus, err := r.GPUs(oldest, end)
	if err != nil {
		return nil, err
	}
	capacity := make(map[string]int64)
	for i := range gpus {
		capacity[gpus[i].UUID] = int64(gpus[i].Capacity().Or(0))
	}
	trace, series := &backtest.Trace{}, make(map[snapshot.RowID]*backtest.Series)
	err = r.Readings(oldest, end, func(at *recording.Reading) error {
		used, known := at.Value(metric.Used)
		if at.Process == nil || at.Process.JobAllocation() != nil || !known {
			return nil
		}
		s := series[at.Process.ID]
		if s == nil {
			s = &backtest.Series{ID: fmt.Sprintf("%d %s", at.Process.ID.Process.PID, text.Clean(process.ShortCommand(at.Process.Command, at.Process.Name)))}
			if age := at.Time.Sub(at.Process.Started); !at.Process.Started.IsZero() && age > 0 {
				s.Age = age.Seconds()
			}
			series[at.Process.ID] = s
			trace.Series = append(trace.Series, s)
		}
		s.Samples = append(s.Samples, backtest.Sample{
			Seconds: float64(at.Time.UnixNano()) / float64(time.Second), Used: used, Total: capacity[at.GPUUUID],
		})
		return nil
	})
	if err == nil && len(trace.Series) == 0 {
		err = errors.New("no process is in this recording")
	}
	return trace, err
}

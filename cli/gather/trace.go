package gather

import (
	"errors"
	"fmt"
	"time"

	"vramscope/forecast/backtest"
	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
)

// Trace returns the used memory of a recording's processes over time, with the capacity of their GPUs.
func Trace(r *recording.Recording) (*backtest.Trace, error) {
	oldest, newest := r.Span()
	end := newest.Add(1)
	gpus, err := r.GPUs(oldest, end)
	if err != nil {
		return nil, err
	}
	capacity := make(map[string]int64)
	for i := range gpus {
		capacity[gpus[i].UUID] = int64(gpus[i].Memory.Capacity().Or(0))
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

package snapshot

import (
	"math"

	"vramscope/internal/quantity"
	"vramscope/metric"
)

// The metrics that a history records of a process and of a GPU. Other memory is recorded as
// computed: the two readings behind it may be skewed.
var (
	RecordedOfProcess = append(metric.KeptOf(metric.Process, metric.Recorded), metric.Other)
	RecordedOfGPU     = metric.KeptOf(metric.GPU, metric.Recorded)
)

// Value returns a metric of the GPU, unknown if the metric is not of GPUs.
func (g *GPU) Value(id metric.ID) Float {
	switch {
	case id == metric.Unattributed:
		return number(g.Unattributed)
	case id >= metric.FirstSensor:
		return g.Sensors.Value(id)
	default:
		return g.Memory.Value(id)
	}
}

// Value returns a metric of the memory.
func (m *Memory) Value(id metric.ID) Float {
	switch id {
	case metric.Used:
		return number(m.Used)
	case metric.Total:
		return number(m.Total)
	case metric.Free:
		return number(m.Free)
	case metric.Reserved:
		return number(m.Reserved)
	default:
		return Float{}
	}
}

// processBytes are the metrics of a process that are amounts of memory.
var processBytes = [metric.Count]func(*Process) *Bytes{
	metric.Used:       func(p *Process) *Bytes { return &p.Used },
	metric.Allocated:  func(p *Process) *Bytes { return &p.Allocated },
	metric.Cached:     func(p *Process) *Bytes { return &p.Cached },
	metric.Fragmented: func(p *Process) *Bytes { return &p.Fragmented },
	metric.Returnable: func(p *Process) *Bytes { return &p.Returnable },
	metric.Asleep:     func(p *Process) *Bytes { return &p.Asleep },
	metric.Other:      func(p *Process) *Bytes { return &p.Other },
	metric.Host:       func(p *Process) *Bytes { return &p.Host },
}

// Value returns a metric of the process, unknown if the metric is not of processes.
func (p *Process) Value(id metric.ID) Float {
	if id < metric.Count && processBytes[id] != nil {
		return number(*processBytes[id](p))
	}
	switch id {
	case metric.CPU:
		cpu := metric.Finite(p.CPU)
		return quantity.From(math.Round(cpu.Or(0)*10)/10, cpu.Source()) // the precision of the kernel's clock ticks
	case metric.SMUtilization:
		return number(p.SMUtilization)
	case metric.MemoryUtilization:
		return number(p.MemoryUtilization)
	case metric.EncoderUtilization:
		return number(p.EncoderUtilization)
	case metric.DecoderUtilization:
		return number(p.DecoderUtilization)
	case metric.Steps:
		return number(p.Steps)
	default:
		return Float{}
	}
}

func number[T quantity.Bytes | int | int64](value quantity.Optional[T]) Float {
	return quantity.From(float64(value.Or(0)), value.Source())
}

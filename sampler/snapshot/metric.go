package snapshot

import (
	"math"

	"vramscope/internal/quantity"
	"vramscope/metric"
)

// The metrics that a history records of a process and of a GPU. Other memory is computed and yet
// recorded, because the recorded figures may be skewed.
var (
	RecordedOfProcess = append(metric.KeptOf(metric.Process, metric.Recorded), metric.Other)
	RecordedOfGPU     = metric.KeptOf(metric.GPU, metric.Recorded)
)

// Value returns a metric of the GPU, unknown if the metric is not of GPUs.
func (g *GPU) Value(id metric.ID) Float {
	switch {
	case id == metric.Unattributed:
		return quantity.As[float64](g.Unattributed)
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
		return quantity.As[float64](m.Used)
	case metric.Total:
		return quantity.As[float64](m.Total)
	case metric.Free:
		return quantity.As[float64](m.Free)
	case metric.Reserved:
		return quantity.As[float64](m.Reserved)
	default:
		return Float{}
	}
}

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
		return quantity.As[float64](*processBytes[id](p))
	}
	switch id {
	case metric.CPU:
		cpu := metric.Finite(p.CPU)
		return quantity.From(math.Round(cpu.Or(0)*10)/10, cpu.Source()) // the precision of the kernel's clock ticks
	case metric.SMUtilization:
		return quantity.As[float64](p.SMUtilization)
	case metric.MemoryUtilization:
		return quantity.As[float64](p.MemoryUtilization)
	case metric.EncoderUtilization:
		return quantity.As[float64](p.EncoderUtilization)
	case metric.DecoderUtilization:
		return quantity.As[float64](p.DecoderUtilization)
	case metric.Steps:
		return quantity.As[float64](p.Steps)
	default:
		return Float{}
	}
}

package metric

import (
	"math"
	"math/bits"
	"time"

	"vramscope/internal/quantity"
)

// Metric describes one metric.
type Metric struct {
	Name    string // the JSON key
	Unit    Unit
	Help    string
	Of      Subject
	Source  quantity.Source // the usual one; GPUs with unified memory and older drivers can have another
	History History
	Live    Subject // subjects of which only the latest value is kept: no history, no export
	Digits  int     // significant bits that the history keeps; 0 keeps whole numbers exactly
	// Prometheus is the end of the exported name, "" if the metric is not exported.
	Prometheus string

	whole    func(*Sensors) *Int // a sensor has either this or fraction
	fraction func(*Sensors) *Float
}

// Unit is the unit of a metric.
type Unit string

const (
	Bytes          Unit = "bytes"
	BytesPerSecond Unit = "bytes_per_second"
	Percent        Unit = "percent"
	Celsius        Unit = "celsius"
	Watts          Unit = "watts"
	Joules         Unit = "joules"
	Megahertz      Unit = "megahertz"
	Number         Unit = "number"
	State          Unit = "state" // a flag, a code or a set of bits
)

// Subject is a set of kinds of things that have metrics.
type Subject uint8

const (
	GPU Subject = 1 << iota
	Process
	Instance // a MIG instance; only for the exporter
)

// History is how the history keeps a metric.
type History uint8

const (
	Forgotten History = iota // nothing
	Recorded                 // a series
	Constant                 // the last value, because the metric does not change
)

// FirstSensor is the first of the sensors, which end before Count.
const FirstSensor = Utilization

// KeptOf lists the metrics of a subject that the history keeps in the given way.
func KeptOf(of Subject, history History) []ID {
	var ids []ID
	for id := range Count {
		if m := &Table[id]; m.Of&^m.Live&of != 0 && m.History == history {
			ids = append(ids, id)
		}
	}
	return ids
}

var named = func() map[string]ID {
	ids := make(map[string]ID, Count)
	for id := range Count {
		ids[Table[id].Name] = id
	}
	return ids
}()

// Named returns the metric with the given JSON name, or Count if there is none.
func Named(name string) ID {
	if id, ok := named[name]; ok {
		return id
	}
	return Count
}

// Value returns a sensor's value. A value that is not a finite number is unknown.
func (s *Sensors) Value(id ID) Float {
	switch m := &Table[id]; {
	case m.whole != nil:
		return quantity.As[float64](*m.whole(s))
	case m.fraction != nil:
		return Finite(*m.fraction(s))
	default:
		return Float{}
	}
}

// Set replaces a sensor's value.
func (s *Sensors) Set(id ID, value Float) {
	switch m := &Table[id]; {
	case m.whole != nil:
		*m.whole(s) = quantity.As[int](value)
	case m.fraction != nil:
		*m.fraction(s) = value
	}
}

// Finite returns the sensors with each NaN and infinite value made unknown.
func (s Sensors) Finite() Sensors {
	for id := FirstSensor; id < Count; id++ {
		if m := &Table[id]; m.fraction != nil {
			*m.fraction(&s) = Finite(*m.fraction(&s))
		}
	}
	return s
}

// Finite returns a value, or unknown if the value is NaN or infinite.
func Finite(value Float) Float {
	if v := value.Or(0); math.IsNaN(v) || math.IsInf(v, 0) {
		return Float{}
	}
	return value
}

// Whole returns a value as the history keeps it: rounded to a whole number and, to save room, to
// Digits significant bits. Values beyond ±2^62 are clamped.
func (m *Metric) Whole(value float64) int64 {
	v := int64(math.Round(min(max(value, -1<<62), 1<<62)))
	drop := bits.Len64(uint64(max(v, 0))) - m.Digits
	if m.Digits == 0 || drop <= 0 {
		return v
	}
	return (v + 1<<(drop-1)) >> drop << drop
}

// Point is one bucket of a series. Its values are in the unit of the metric.
type Point struct {
	Time           time.Time // end of the bucket, inclusive; its start is exclusive
	Min, Max, Last int64
	Known          bool // false if there was no sample
}

// Add adds a sample that is newer than all others of the bucket.
func (p *Point) Add(v int64) {
	if !p.Known {
		p.Min, p.Max = v, v
	}
	p.Min, p.Max, p.Last, p.Known = min(p.Min, v), max(p.Max, v), v, true
}

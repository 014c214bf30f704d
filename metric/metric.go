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
	Source  quantity.Source // who usually reports it; GPUs with unified memory and older drivers differ
	History History
	Live    Subject // subjects of which only the latest value is kept: no history, no export
	Digits  int     // significant bits that the history keeps; 0 keeps whole numbers exactly
	// Prometheus is the end of the exported name, in base units. It is "" if the metric is not
	// exported. ExportedAs returns the whole name.
	Prometheus string

	whole    func(*Sensors) *Int // a sensor has either this or fraction
	fraction func(*Sensors) *Float
}

// Unit is what a metric is measured in.
type Unit string

// The units.
const (
	Bytes          Unit = "bytes"
	BytesPerSecond Unit = "bytes_per_second"
	Percent        Unit = "percent"
	Celsius        Unit = "celsius"
	Watts          Unit = "watts"
	Joules         Unit = "joules"
	Megahertz      Unit = "megahertz"
	Number         Unit = "number"
	State          Unit = "state" // a number that is not an amount
)

// Subject is a set of the kinds of things that a metric is measured for.
type Subject uint8

// The subjects.
const (
	GPU Subject = 1 << iota
	Process
	Instance // a MIG instance; used only by the exporter
)

// History says what the history keeps of a metric.
type History uint8

// The history keeps nothing of a metric, a series, or only the last value because the metric does
// not change.
const (
	Forgotten History = iota
	Recorded
	Constant
)

// FirstSensor is the first of the sensors. All metrics from it up to Count are sensors.
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

// Finite returns the sensors. Values that are not finite numbers are unknown.
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

// Whole returns a value as the history keeps it: rounded to a whole number and, for a noisy metric,
// to the significant bits that the screen shows. A day of the dropped bits would take more room
// than all memory figures, which are kept to the byte. Values beyond ±2^62 are nonsense and are
// clamped.
func (m *Metric) Whole(value float64) int64 {
	v := int64(math.Round(min(max(value, -1<<62), 1<<62)))
	drop := bits.Len64(uint64(max(v, 0))) - m.Digits
	if m.Digits == 0 || drop <= 0 {
		return v
	}
	return (v + 1<<(drop-1)) >> drop << drop
}

// Point is one bucket of a series. Its values are whole numbers in the metric's unit. Max shows the
// height of a short spike.
type Point struct {
	Time           time.Time // end of the bucket, which includes its end and excludes its start
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

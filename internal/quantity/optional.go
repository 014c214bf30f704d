package quantity

import (
	"encoding/json"
	"strconv"
)

// Source is where a value comes from. The zero Source is Nowhere: the value is unknown.
type Source uint8

// The sources.
const (
	Nowhere  Source = iota // unknown
	Driver                 // NVML, current calls
	DriverV1               // nvmlDeviceGetMemoryInfo v1: used includes what the driver reserves
	System                 // the operating system: /proc, host memory of a unified-memory machine
	Probe                  // an allocator's stats, from a probe
	Computed               // arithmetic over known values
	Forecast               // a forecaster's median
)

// String returns the name of the source in JSON and in doctor.
func (s Source) String() string {
	names := [...]string{"unknown", "driver", "driver-v1", "system", "probe", "computed", "forecast"}
	if int(s) >= len(names) {
		return names[Nowhere] // a number from a file may be invalid
	}
	return names[s]
}

// Optional is a value that may be unknown. Its zero value is unknown. It is comparable if T is.
type Optional[T any] struct {
	value  T
	source Source
}

// From wraps a known value. A Source of Nowhere makes the unknown value.
func From[T any](value T, source Source) Optional[T] {
	if source == Nowhere {
		return Optional[T]{}
	}
	return Optional[T]{value: value, source: source}
}

func Unknown[T any]() Optional[T] { return Optional[T]{} }

func (o Optional[T]) Known() bool { return o.source != Nowhere }

// Value returns the value and whether it is known.
func (o Optional[T]) Value() (T, bool) { return o.value, o.source != Nowhere }

// Or returns the value, or fallback if it is unknown.
func (o Optional[T]) Or(fallback T) T {
	if o.source == Nowhere {
		return fallback
	}
	return o.value
}

// Source returns where the value comes from, Nowhere if it is unknown.
func (o Optional[T]) Source() Source { return o.source }

// As returns a value as another type of number.
func As[T, V ~int | ~int64 | ~float64](v Optional[V]) Optional[T] { return From(T(v.value), v.source) }

// MarshalJSON writes the bare value, or null if it is unknown.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if o.source == Nowhere {
		return null, nil
	}
	if amount, ok := any(o.value).(Bytes); ok { // most values are amounts, and json.Marshal is slow because it uses reflection
		return strconv.AppendInt(nil, int64(amount), 10), nil
	}
	return json.Marshal(o.value)
}

var null = []byte("null") // json copies it

// UnmarshalJSON reads what MarshalJSON has written. A known value gets the source Computed.
func (o *Optional[T]) UnmarshalJSON(encoded []byte) error {
	var value *T
	if err := json.Unmarshal(encoded, &value); err != nil || value == nil {
		*o = Optional[T]{}
		return err
	}
	*o = Optional[T]{value: *value, source: Computed}
	return nil
}

// All adds amounts. The sum is unknown if one of them is.
func All[T ~int | ~int64 | ~float64](amounts ...Optional[T]) Optional[T] {
	for _, amount := range amounts {
		if !amount.Known() {
			return Optional[T]{}
		}
	}
	return Sum(amounts...)
}

// Sum adds the known values of amounts. The sum is unknown if none is known.
func Sum[T ~int | ~int64 | ~float64](amounts ...Optional[T]) (total Optional[T]) {
	for _, amount := range amounts {
		if v, ok := amount.Value(); ok {
			total = From(total.value+v, Computed)
		}
	}
	return total
}

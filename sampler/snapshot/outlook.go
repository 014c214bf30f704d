package snapshot

import (
	"slices"
	"strconv"
	"time"

	"vramscope/internal/quantity"
)

// Outlook is the expected memory of a process, a GPU or a MIG instance.
type Outlook struct {
	// Predicted is used memory at each horizon, between 0 and the capacity; nil without a forecast.
	// The median reaches the capacity only at FullIn or later.
	Predicted []Prediction
	FullIn    *FullIn // nil if memory is not expected to be full
	Doubt     Doubt   // why there is no forecast, or why a rise is not believed
}

// Doubt is why a forecast is withheld or not believed.
type Doubt string

const (
	Believed   Doubt = ""
	Young      Doubt = "young"      // too few samples
	Loading    Doubt = "loading"    // the process loads its data, and how far that goes is unknown
	Rebuilding Doubt = "rebuilding" // the process has run out of memory, and is not steady yet
	Unsteady   Doubt = "unsteady"   // memory has risen and fallen before, and is expected to rise as far again
)

// Words returns a clause about the doubt, or "" if there is none.
func (d Doubt) Words() string {
	return map[Doubt]string{
		Young: "too young for a forecast", Loading: "loading: no forecast yet",
		Rebuilding: "out of memory: no forecast until steady", Unsteady: "rises and frees again by turns",
	}[d]
}

// FullIn is when memory will be full, with an 80 % interval, which has no late end if Latest is 0.
type FullIn struct {
	Median, Earliest, Latest time.Duration

	// Made is the time of the newest sample in the forecast.
	Made time.Time `json:"-"`
}

// Until returns the median: in minutes from 10 to 99 minutes, otherwise as quantity.Duration.
func (f *FullIn) Until() string {
	minutes := int(f.Median.Round(time.Minute) / time.Minute)
	if f.Median >= 10*time.Minute && minutes < 100 {
		return strconv.Itoa(minutes) + "m"
	}
	return quantity.Duration(f.Median)
}

// Brief returns "full in 4m10s" or "full".
func (f *FullIn) Brief() string {
	if f.Median <= 0 {
		return "full"
	}
	return "full in " + f.Until()
}

// Words returns "full in 4m10s (3m–6m)" in at most 22 cells. The bounds are rounded outward to
// minutes. An upper bound beyond 99 minutes is left open ("3m+").
func (f *FullIn) Words(dash string) string {
	if f.Median <= 0 {
		return f.Brief()
	}
	const open = 99
	earliest := int(max(min(f.Earliest, f.Median), 0) / time.Minute)
	latest := int((max(f.Latest, f.Median) + time.Minute - 1) / time.Minute)
	end := "+"
	if f.Latest > 0 && latest <= open {
		end = dash + strconv.Itoa(latest) + "m"
	}
	return f.Brief() + " (" + strconv.Itoa(min(earliest, open)) + "m" + end + ")"
}

// Prediction is a forecast of used memory at one horizon.
type Prediction struct {
	Horizon                                    time.Duration
	Median, Lower80, Upper80, Lower95, Upper95 quantity.Bytes
}

// After returns the forecast less the time that has passed since it was made.
func (f *FullIn) After(passed time.Duration) *FullIn {
	if f == nil || passed <= 0 {
		return f
	}
	out := &FullIn{Median: max(f.Median-passed, 0), Earliest: max(f.Earliest-passed, 0), Made: f.Made}
	if f.Latest > 0 {
		out.Latest = max(f.Latest-passed, 1)
	}
	return out
}

// Agree makes the forecasts agree with the memory and with each other. All are then between 0 and
// the capacity, and the median is the capacity from FullIn on. If FullIn is nil, a median that would
// reach the capacity keeps the value of the previous horizon. In the doubt Rebuilding, all are dropped.
func (o *Outlook) Agree(m *Memory) {
	if o.Doubt == Rebuilding {
		o.Predicted, o.FullIn = nil, nil
		return
	}
	used, known := m.Used.Value()
	capacity, limited := m.Capacity().Value()
	if !known || !limited || len(o.Predicted) == 0 {
		return
	}
	before, shared := min(used, capacity), true // shared: earlier snapshots have the same o.Predicted
	for i, was := range o.Predicted {
		p := was
		switch {
		case o.FullIn == nil:
			if p.Median >= capacity {
				p.Median = before
			}
		case p.Horizon >= o.FullIn.Median:
			p.Median = capacity
		default:
			share := p.Horizon.Seconds() / o.FullIn.Median.Seconds()
			p.Median = min(p.Median, used+quantity.Bytes(share*float64(capacity-used)))
		}
		within := func(v quantity.Bytes) quantity.Bytes { return min(max(v, 0), capacity) }
		p.Median = within(p.Median)
		p.Lower80, p.Upper80 = min(within(p.Lower80), p.Median), max(within(p.Upper80), p.Median)
		p.Lower95, p.Upper95 = min(within(p.Lower95), p.Lower80), max(within(p.Upper95), p.Upper80)
		before = p.Median
		if p != was && shared {
			o.Predicted, shared = slices.Clone(o.Predicted), false
		}
		o.Predicted[i] = p
	}
}

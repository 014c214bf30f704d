package metric

import "time"

// Point is one bucket of a series: whole numbers in the metric's unit. Max is what
// a spike leaves behind.
type Point struct {
	Time           time.Time // the bucket's end, which belongs to it; its start does not
	Min, Max, Last int64
	Known          bool // false where there was no sample
}

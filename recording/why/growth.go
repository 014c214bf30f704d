package why

import (
	"fmt"
	"time"

	"vramscope/internal/quantity"
)

// Growth is how much a neighbour grew. Neighbour is nil if no known process explains the growth.
type Growth struct {
	Neighbour  *Neighbour
	From, To   quantity.Bytes
	Began, End time.Time
}

// neighbourOf returns the verdict that a neighbour took the memory. It names the neighbour that grew
// most since the reference, if that is at least half of the growth.
func neighbourOf(e *Evidence, reference Sample, growth, short quantity.Bytes, before bool) Verdict {
	v := Verdict{Cause: NeighbourTook}
	var largest quantity.Bytes
	for i := range e.Neighbours {
		n := &e.Neighbours[i]
		for _, used := range [][]Use{n.Used, n.Before} {
			if g, ok := growthOf(used, reference.Time); ok {
				if rise := g.To - g.From; rise > largest {
					g.Neighbour, largest, v.By = n, rise, &g
				}
				break
			}
		}
	}
	if v.By == nil || largest < growth/2 {
		v.By = &Growth{From: reference.Others.Or(0), To: reference.Others.Or(0) + growth, Began: reference.Time, End: e.Event.Time}
		v.Reasons = append(v.Reasons, fmt.Sprintf(
			"Memory of others on the device grew by %s since %s; no process whose use is known accounts for it.", growth, reference.Time.Format(time.TimeOnly)))
	} else {
		v.Reasons = append(v.Reasons, fmt.Sprintf("%s grew from %s to %s between %s and %s.", nameOf(&v.By.Neighbour.Process),
			v.By.From, v.By.To, v.By.Began.Format(time.TimeOnly), v.By.End.Format(time.TimeOnly)))
	}
	v.Reasons = append(v.Reasons, fmt.Sprintf("All else on the device grew by %s, and %s was lacking.", growth, short))
	if before {
		v.Reasons = append(v.Reasons, fmt.Sprintf("The process needed no more than it had at %s.", reference.Time.Format(time.TimeOnly)))
	}
	return v
}

// growthOf returns how much used memory has changed since a moment. ok is false if the memory at that
// moment, or after it, is unknown.
func growthOf(used []Use, since time.Time) (g Growth, ok bool) {
	start := -1
	for i := range used {
		if !used[i].Time.After(since) || i == 0 && (used[0].Used == 0 || used[0].Time.Sub(since) <= neighbourTime) {
			start = i
		}
	}
	if start < 0 || start == len(used)-1 {
		return g, false
	}
	g.From, g.To = used[start].Used, used[len(used)-1].Used
	tenth := (g.To - g.From) / 10
	g.Began, g.End = used[start].Time, used[len(used)-1].Time
	for _, u := range used[start:] {
		if u.Used <= used[start].Used+tenth {
			g.Began, g.From = u.Time, u.Used // the last sample that is within a tenth of the start
		}
	}
	for i := len(used) - 1; i >= start && used[i].Used >= g.To-tenth; i-- {
		g.End = used[i].Time
	}
	return g, true
}

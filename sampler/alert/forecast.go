package alert

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// forecasted is the hysteresis of alerts from forecasts. A time to full near FullWithin appears and
// disappears: without the hold, the alert would be raised again and again.
var forecasted = hysteresis{samples: 3, misses: 5, hold: 20 * time.Second}

// fullIn alerts if a GPU or a MIG instance is forecast to be full soon.
func (e *Evaluator) fullIn(found []candidate, g *snapshot.GPU) []candidate {
	if g.FullIn != nil {
		found = e.fullPlace(found, g, snapshot.Place{GPUUUID: g.UUID}, g.FullIn, number(g.Index), refutedBelow(&g.Memory, g.Predicted))
	}
	for i := range g.Instances {
		if in := &g.Instances[i]; in.FullIn != nil {
			where := snapshot.Place{GPUUUID: g.UUID, Instance: in.ID}
			found = e.fullPlace(found, g, where, in.FullIn, number(g.Index)+":"+number(i+1), refutedBelow(&in.Memory, in.Predicted))
		}
	}
	return found
}

func (e *Evaluator) fullPlace(found []candidate, g *snapshot.GPU, where snapshot.Place, full *snapshot.FullIn, label string, refuted quantity.Bytes) []candidate {
	low := e.latches[keyOf(snapshot.AlertLowMemory, where)]
	said := low != nil && low.standing && low.newest.alert.Severity == snapshot.Urgent
	if full.Median >= FullWithin || full.Median < time.Second && said {
		return found
	}
	c := candidate{
		hysteresis: forecasted,
		forecast:   full,
		label:      label,
		refuted:    refuted,
		alert: snapshot.Alert{
			Kind: snapshot.AlertFullIn, Severity: snapshot.Urgent,
			GPU: g.Index, GPUUUID: g.UUID, Instance: where.Instance, Row: e.grower(where),
			Advice: e.remedy(where),
		},
	}
	c.announce(full)
	return append(found, c)
}

func (c *candidate) announce(full *snapshot.FullIn) {
	text := full.Words("–")
	words := text
	if c.alert.Instance.MIG {
		words = c.label + " " + full.Brief() // a GPU has one line for all its instances
	}
	c.soon, c.announced = full.Median, full
	c.alert.Note, c.alert.Message = note(words), "GPU "+c.label+" "+text
}

// FullIn returns the time to full in a standing alert, nil if there is none. The alert outlasts the
// forecast that raised it by some snapshots.
func (e *Evaluator) FullIn(a *snapshot.Alert) *snapshot.FullIn {
	if l := e.latches[a.Key()]; l != nil && l.standing {
		return l.newest.announced
	}
	return nil
}

// refutedBelow returns the used memory below which the forecast of full memory is refuted, because
// a process crashed or freed memory. Used memory must fall by more than the forecast's interval
// allows: at least a hundredth of the capacity, at most a tenth of it and the free memory.
func refutedBelow(m *snapshot.Memory, predicted []snapshot.Prediction) quantity.Bytes {
	used, capacity := m.Used.Or(0), m.Capacity().Or(0)
	allowed := max(capacity-used, 0) + capacity/10
	if len(predicted) > 0 {
		allowed = min(allowed, used-predicted[0].Lower95)
	}
	return used - max(allowed, capacity/100)
}

// grower returns the process that a full-in alert names: the same as before, or else the fastest
// growing process, or else the process with the most returnable memory.
func (e *Evaluator) grower(where snapshot.Place) snapshot.RowID {
	if row := e.named(keyOf(snapshot.AlertFullIn, where)); row != (snapshot.RowID{}) {
		return row
	}
	var fastest *snapshot.Process
	var rate quantity.Bytes
	for p := range e.snap.PlaceRows(where) {
		if r, ok := p.GrowthPerSecond.Value(); ok && r > rate {
			fastest, rate = p, r
		}
	}
	if fastest == nil {
		fastest = e.mostReturnable(where)
	}
	if fastest == nil {
		return snapshot.RowID{}
	}
	return fastest.ID
}

func (e *Evaluator) leaks(found []candidate, g *snapshot.GPU) []candidate {
	for p := range e.snap.GPURows(g.UUID) {
		if p.Trend != snapshot.TrendLeak {
			continue
		}
		short, sentence := "leak", who(p)+" leaks"
		if rate, ok := p.GrowthPerSecond.Value(); ok && rate > 0 {
			short += " " + rate.String() + "/s"
			sentence += " " + rate.String() + "/s"
		}
		if p.User != "" {
			short += ", " + p.User
		}
		advice := ""
		if frees(p) {
			advice = flushAdvice(p, snapshot.LastingOf(e.history, e.snap.Time, p))
		}
		found = append(found, candidate{
			hysteresis: forecasted,
			alert: snapshot.Alert{
				Kind: snapshot.AlertLeak, Severity: snapshot.Notice, GPU: g.Index, GPUUUID: g.UUID, Instance: p.ID.Instance, Row: p.ID,
				Note: note(short), Message: "GPU " + number(g.Index) + ", " + sentence, Advice: advice,
			},
		})
	}
	return found
}

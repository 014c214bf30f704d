package alert

import (
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// forecasted is the hysteresis of what a forecaster says: a forecast has to
// stay for three samples, and to stay away for five.
func forecasted() hysteresis { return hysteresis{samples: 3, misses: 5} }

// fullIn says that a GPU, or a MIG instance of it, will be full soon. It is
// silent while nothing forecasts.
func (e *Evaluator) fullIn(found []candidate, g *snapshot.GPU) []candidate {
	if g.FullIn != nil {
		found = e.fullPlace(found, g, place{gpuUUID: g.UUID}, *g.FullIn, number(g.Index), refutedBelow(&g.Memory, g.Predicted))
	}
	for i := range g.Instances {
		if in := &g.Instances[i]; in.FullIn != nil {
			where := place{gpuUUID: g.UUID, instance: in.ID}
			found = e.fullPlace(found, g, where, *in.FullIn, number(g.Index)+":"+number(i+1), refutedBelow(&in.Memory, in.Predicted))
		}
	}
	return found
}

func (e *Evaluator) fullPlace(found []candidate, g *snapshot.GPU, where place, full snapshot.FullIn, label string, refuted quantity.Bytes) []candidate {
	if full.Median >= e.thresholds.FullWithin {
		return found
	}
	k := key{kind: snapshot.AlertFullIn, gpuUUID: g.UUID, instance: where.instance}
	text := FormatFullIn(full)
	words := text
	if where.instance.MIG {
		words = label + " " + briefFullIn(full) // the GPU's line is all its instances'
	}
	return append(found, candidate{
		key:        k,
		hysteresis: forecasted(),
		soon:       full.Median,
		refuted:    refuted,
		alert: snapshot.Alert{
			Kind: snapshot.AlertFullIn, Severity: snapshot.Urgent,
			GPU: g.Index, GPUUUID: g.UUID, Instance: where.instance, Row: e.grower(where, k),
			Note: note(words), Message: "GPU " + label + " " + text, Advice: flushAdvice(e.mostReturnable(where)),
		},
	})
}

// refutedBelow is what must be used, at the least, for a forecast to go on
// standing that memory will be full: a process that has crashed or let go of
// what it had takes more away than the forecast's interval allows for or, where
// that says little, than was left to be taken, and a tenth of all there is.
func refutedBelow(m *snapshot.Memory, predicted []snapshot.Prediction) quantity.Bytes {
	used, capacity := m.Used.Or(0), m.Capacity().Or(0)
	allowed := max(capacity-used, 0) + capacity/10
	if len(predicted) > 0 {
		allowed = min(allowed, used-predicted[0].Lower95)
	}
	return used - max(allowed, capacity/100)
}

// grower is the process to name when a GPU fills up: the one that the alert
// has named before, else the one that grows fastest, else the one that a flush
// helps most.
func (e *Evaluator) grower(where place, k key) snapshot.RowID {
	if row := e.named(k); row != (snapshot.RowID{}) {
		return row
	}
	var fastest *snapshot.Process
	var rate quantity.Bytes
	for _, p := range e.at(where) {
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

// leaks says which processes leak. It is silent while nothing judges trends.
func (e *Evaluator) leaks(found []candidate, g *snapshot.GPU) []candidate {
	for _, p := range e.at(place{gpuUUID: g.UUID}) {
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
		found = append(found, candidate{
			key:        key{kind: snapshot.AlertLeak, gpuUUID: g.UUID, row: p.ID},
			hysteresis: forecasted(),
			alert: snapshot.Alert{
				Kind: snapshot.AlertLeak, Severity: snapshot.Notice, GPU: g.Index, GPUUUID: g.UUID, Instance: p.ID.Instance, Row: p.ID,
				Note: note(short), Message: "GPU " + number(g.Index) + ", " + sentence, Advice: flushAdvice(p),
			},
		})
	}
	return found
}

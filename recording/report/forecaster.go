package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/recording"
	"vramscope/sampler/snapshot"
	"vramscope/schema"
)

// The rules by which alerts are judged. `vramscope backtest` shares a part of them (docs/forecast.md).
const (
	// rightWithin is how soon after an alert a GPU must be full for the alert to be right: twice the
	// time to full that raises an alert, as for `vramscope backtest`.
	rightWithin = 30 * time.Minute
	// apart is the least time between two moments at which a GPU becomes full. A recorded minute
	// shows only that the GPU was full at some moment in it.
	apart = 2 * time.Minute
	// sudden is how long after its start a process cannot be forecast, for lack of samples.
	sudden = time.Minute
)

// Outcomes of an alert that a GPU will be full.
const (
	outcomeHit       = "hit"
	outcomeFalse     = "false"
	outcomeActedOn   = "acted_on"  // the GPU saw a flush or a signal, or the process that the alert names ended
	outcomeUndecided = "undecided" // not all of the time was recorded
)

// fullness tracks when a GPU becomes full (within 1 % of its capacity) and when it is tight (within
// 10 %). An out-of-memory error on a GPU that is not tight comes from a limit or from a request that
// is too large.
type fullness struct {
	fills []time.Time
	tight minuteSet
	clear time.Time // the end of the last minute that was not full
	was   bool
}

func (f *fullness) add(g *gpuSums, m *recording.GPUMinute) {
	capacity, ok := g.Memory.Capacity().Value()
	highest, known := m.Used.Max.Value()
	if !ok || !known {
		return
	}
	if highest >= capacity-capacity/10 {
		f.tight.add(m.Time)
	}
	full := highest >= capacity-capacity/100
	if full && !f.was && !f.clear.IsZero() {
		f.fills = append(f.fills, m.Time)
	}
	if f.was = full; !full {
		f.clear = m.Time.Add(time.Minute)
	}
}

// fill is a moment that fillsOf returns.
type fill struct {
	at     time.Time
	sudden bool
	led    bool
}

// fillsOf returns the moments at which a GPU became full, or at which a process ran out of memory
// while the GPU was tight.
func (b *Builder) fillsOf(g *gpuSums) []fill {
	moments := slices.Clone(g.full.fills)
	for i := range b.events {
		o := &b.events[i]
		if o.Kind == snapshot.EventOutOfMemory && o.GPUUUID == g.UUID && g.full.tight.count(o.Time.Add(-time.Minute), 2) > 0 {
			moments = append(moments, o.Time)
		}
	}
	slices.SortStableFunc(moments, time.Time.Compare)
	var fills []fill
	var last time.Time
	for _, at := range moments {
		if last.IsZero() || at.Sub(last) >= apart {
			fills = append(fills, fill{at: at, sudden: b.startedBefore(g, at)})
		}
		last = at
	}
	return fills
}

func (b *Builder) startedBefore(g *gpuSums, at time.Time) bool {
	for id, p := range b.processes {
		began := p.Started
		if began.IsZero() {
			began = p.First
		}
		// at may be the start of the minute in which the process started.
		if since := at.Sub(began); id.GPUUUID == g.UUID && since >= -time.Minute && since <= sudden {
			return true
		}
	}
	return false
}

// forecaster judges the alerts that a GPU will be full, and appends these alerts to events.
func (b *Builder) forecaster(events []schema.ReportEvent) (schema.ReportForecaster, []schema.ReportEvent) {
	out := schema.ReportForecaster{OtherAlerts: []schema.ReportAlertKind{}}
	fills := map[string][]fill{}
	for _, g := range b.gpus {
		fills[g.UUID] = b.fillsOf(g)
	}
	var leads, errors []float64
	others := map[snapshot.AlertKind]int{}
	sorted.Stable(b.alerts, func(x, y recording.Alert) int { return x.Time.Compare(y.Time) })
	for i := range b.alerts {
		a := &b.alerts[i]
		if a.Kind != snapshot.AlertFullIn || a.Instance.MIG {
			others[a.Kind]++
			continue
		}
		out.Alerts++
		outcome, at := b.judge(a, fills[a.GPUUUID])
		*map[string]*int{outcomeHit: &out.Hits, outcomeFalse: &out.False, outcomeActedOn: &out.ActedOn, outcomeUndecided: &out.Undecided}[outcome]++
		if outcome == outcomeHit {
			lead := max(at.at.Sub(a.Time), 0)
			if !at.led {
				at.led = true
				leads = append(leads, lead.Seconds())
			}
			if median, known := a.Median.Value(); known {
				out.IntervalOf++
				// The moment of a fill is known to within a minute.
				if lead >= a.Earliest.Or(0)-time.Minute && lead <= a.Latest.Or(lead)+time.Minute {
					out.IntervalHeld++
				}
				errors = append(errors, 100*math.Abs((median-lead).Seconds())/max(lead, time.Minute).Seconds())
			}
		}
		events = append(events, schema.ReportEvent{
			Time: schema.Time(a.Time), GPU: b.index(a.GPUUUID), UUID: a.GPUUUID, Kind: string(a.Kind), Outcome: schema.Text(outcome),
			Process: schema.Text(b.label(a.Row)), Message: schema.Text(a.Message),
		})
	}
	all, missed, sudden := 0, 0, 0
	for _, fill := range fills {
		for _, f := range fill {
			all++
			switch {
			case f.led:
			case f.sudden:
				sudden++
			default:
				missed++
			}
		}
	}
	if b.allOOMs().Known() || slices.ContainsFunc(b.gpus, func(g *gpuSums) bool { return g.parts[used].Known() }) {
		out.Fills, out.Missed, out.Sudden = quantity.From(all, quantity.Computed), quantity.From(missed, quantity.Computed), quantity.From(sudden, quantity.Computed)
	}
	out.MedianLead, out.MedianError = median(leads), median(errors)
	for kind, n := range others {
		out.OtherAlerts = append(out.OtherAlerts, schema.ReportAlertKind{Kind: string(kind), Count: n})
	}
	sorted.Stable(out.OtherAlerts, func(x, y schema.ReportAlertKind) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Kind, y.Kind))
	})
	return out, events
}

// judge returns an alert's outcome, and the fill that a hit predicted.
func (b *Builder) judge(a *recording.Alert, fills []fill) (outcome string, at *fill) {
	end := a.Time.Add(rightWithin)
	for i := range fills {
		// A full minute may have begun before the alert.
		if at := fills[i].at; at.After(a.Time.Add(-time.Minute)) && !at.After(end) {
			return outcomeHit, &fills[i]
		}
	}
	switch g := b.byUUID[a.GPUUUID]; {
	case b.actedOn(a, end):
		return outcomeActedOn, nil
	case g == nil || end.After(b.question.To) || !b.sawAll(a.Time, end):
		return outcomeUndecided, nil
	default:
		return outcomeFalse, nil
	}
}

// actedOn reports whether, between an alert and end, its GPU saw a flush or a signal, or the process
// that the alert names ended.
func (b *Builder) actedOn(a *recording.Alert, end time.Time) bool {
	between := func(t time.Time) bool { return t.After(a.Time) && !t.After(end) }
	if p := b.processes[a.Row]; p != nil && between(p.Ended) {
		return true
	}
	return slices.ContainsFunc(b.events, func(x event) bool {
		return x.GPUUUID == a.GPUUUID && between(x.Time) && (x.Kind == snapshot.EventFlush || x.Kind == snapshot.EventSignal)
	})
}

// sawAll reports whether at least half of each minute was recorded on some GPU.
func (b *Builder) sawAll(from, to time.Time) bool {
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		if b.recorded[minuteOf(at)] < time.Minute/2 {
			return false
		}
	}
	return true
}

// median returns the median of v, unknown if v is empty. It sorts v.
func median(v []float64) snapshot.Float {
	if len(v) == 0 {
		return snapshot.Float{}
	}
	slices.Sort(v)
	return figure((v[(len(v)-1)/2]+v[len(v)/2])/2, true)
}

func (b *Builder) flushes() schema.ReportFlushes {
	out := schema.ReportFlushes{StayedFree: make([]schema.ReportStaying, len(Stays))}
	for i, after := range Stays {
		out.StayedFree[i].AfterSeconds = after.Seconds()
	}
	for i := range b.events {
		a := &b.events[i]
		if a.Kind != snapshot.EventFlush {
			continue
		}
		out.Count++
		freed, ok := a.Bytes.Value()
		if !ok {
			out.NotMeasured++
			continue
		}
		out.FreedBytes = quantity.From(out.FreedBytes.Or(0)+freed, quantity.Computed)
		for k := range Stays {
			if stayed, ok := a.stayed[k].Value(); ok {
				s := &out.StayedFree[k]
				s.Flushes++
				s.FreedBytes += freed
				s.StayedBytes += min(max(stayed, 0), max(freed, 0))
			}
		}
	}
	return out
}

func (b *Builder) index(uuid string) int {
	if g := b.byUUID[uuid]; g != nil {
		return g.Index
	}
	return -1
}

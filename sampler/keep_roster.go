package sampler

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"vramscope/sampler/snapshot"
	"vramscope/sampler/store"
)

// roster is all that Save writes besides the samples. A series is a number: its
// place among the saved series, from 1; 0 is none.
type roster struct {
	Latest      *snapshot.Snapshot // nil before the first tick
	OutOfMemory map[snapshot.RowID]int64
	Events      []snapshot.Event // newest first
	Drivers     []keptDriver
	GPUs        []keptGPU
	Rows        []keptRow // ended ones in order of their end, then live ones
	Alerts      []keptAlert
	Outlooks    []keptOutlook
	Rules       []byte // the state of the alert rules
}

type keptSeries []uint32

type keptDriver struct {
	From   time.Time
	Driver snapshot.Driver
}

type keptGPU struct {
	GPU         snapshot.GPU
	First, Last time.Time
	States      []keptState
	Series      keptSeries
	Instances   []keptInstance
}

type keptState struct {
	From    time.Time
	State   snapshot.GPUState
	Message string
}

type keptInstance struct {
	Instance snapshot.Instance
	Series   keptSeries
}

type keptRow struct {
	Process      snapshot.Process
	First, Ended time.Time // zero: it is live
	Tick         uint64
	Series       keptSeries
	Torn         []span
}

type keptAlert struct {
	Alert         snapshot.Alert
	From, Cleared time.Time
}

// The roster's section. Gob matches fields by name: adding or removing one needs
// no new version, a field with another meaning does.
const (
	rosterKind    = "rost"
	rosterVersion = 2
)

func (r *roster) save(w io.Writer) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(r); err != nil {
		return fmt.Errorf("roster: %w", err)
	}
	return store.WriteSection(w, rosterKind, rosterVersion, b.Bytes())
}

func loadRoster(in io.Reader) (*roster, error) {
	payload, err := store.ReadSection(in, rosterKind, rosterVersion)
	if err != nil {
		return nil, err
	}
	r := new(roster)
	if err := gob.NewDecoder(strings.NewReader(payload)).Decode(r); err != nil {
		// The checksum was right: the types differ.
		return nil, fmt.Errorf("roster: %w: %w", store.ErrVersion, err)
	}
	return r, nil
}

// roster is the state, and the series in the order of their numbers.
func (s *Sampler) roster() (*roster, []*store.Series) {
	h := s.history
	h.mu.RLock()
	defer h.mu.RUnlock()
	r := &roster{Events: h.log.Newest(0), OutOfMemory: make(map[snapshot.RowID]int64)}
	if h.latest != nil {
		latest := *h.latest
		latest.Driver.Err = nil // errors cannot be encoded; Message has the text
		r.Latest = &latest
	}
	for id, row := range s.rows {
		if row.oomKnown {
			r.OutOfMemory[id] = row.oom
		}
	}
	var all []*store.Series
	number := func(m *metrics) keptSeries {
		out := make(keptSeries, len(m))
		for i, series := range m {
			if series != nil {
				all = append(all, series)
				out[i] = uint32(len(all))
			}
		}
		return out
	}
	for _, span := range h.drivers {
		r.Drivers = append(r.Drivers, keptDriver{span.from, span.driver})
	}
	for _, g := range h.gpus {
		kept := keptGPU{GPU: g.gpu, First: g.first, Last: g.last, Series: number(&g.metrics)}
		for _, span := range g.states {
			kept.States = append(kept.States, keptState{span.from, span.state, span.message})
		}
		for _, in := range g.instances {
			kept.Instances = append(kept.Instances, keptInstance{in.instance, number(&in.metrics)})
		}
		r.GPUs = append(r.GPUs, kept)
	}
	keep := func(row *rowRecord) {
		r.Rows = append(r.Rows, keptRow{*row.process, row.first, row.ended, row.tick, number(&row.metrics), slices.Clone(row.skews)})
	}
	for _, row := range h.ended {
		keep(row)
	}
	for _, row := range h.rows {
		keep(row)
	}
	for _, span := range h.alerts {
		r.Alerts = append(r.Alerts, keptAlert{span.alert, span.from, span.cleared})
	}
	return r, all
}

// history makes a History of the roster and the samples.
func (r *roster) history(samples *store.Store, series []*store.Series) (*History, error) {
	h := newHistory()
	h.store = samples
	h.latest = r.Latest
	unknown := false
	find := func(numbers keptSeries) (out metrics) {
		for i, n := range numbers {
			switch {
			case i >= len(out) || int64(n) > int64(len(series)):
				unknown = unknown || n > 0
			case n > 0:
				out[i] = series[n-1]
			}
		}
		return out
	}
	for i := len(r.Events) - 1; i >= 0; i-- {
		h.log.Append(r.Events[i])
	}
	for _, span := range r.Drivers {
		h.drivers = append(h.drivers, driverSpan{span.From, span.Driver})
	}
	for i := range r.GPUs {
		kept := &r.GPUs[i]
		g := &gpuRecord{
			gpu: kept.GPU, first: kept.First, last: kept.Last,
			metrics: find(kept.Series), instances: make(map[snapshot.InstanceID]*instanceRecord),
		}
		for _, span := range kept.States {
			g.states = append(g.states, stateSpan{span.From, span.State, span.Message})
		}
		for _, in := range kept.Instances {
			g.instances[in.Instance.ID] = &instanceRecord{in.Instance, find(in.Series)}
		}
		h.gpus[kept.GPU.UUID] = g
	}
	for i := range r.Rows {
		kept := &r.Rows[i]
		process := kept.Process
		row := &rowRecord{process: &process, first: kept.First, ended: kept.Ended, tick: kept.Tick, metrics: find(kept.Series), skews: kept.Torn}
		if row.ended.IsZero() {
			h.rows[row.process.ID] = row
		} else {
			h.ended = append(h.ended, row)
		}
	}
	h.standing = make(map[alertKey]*alertSpan)
	for i := range r.Alerts {
		span := &alertSpan{alert: r.Alerts[i].Alert, from: r.Alerts[i].From, cleared: r.Alerts[i].Cleared}
		h.alerts = append(h.alerts, span)
		if span.cleared.IsZero() {
			h.standing[keyOf(&span.alert)] = span
		}
	}
	_, newest := samples.Span()
	if unknown || h.latest == nil && !newest.IsZero() {
		return nil, fmt.Errorf("roster: %w: it does not belong to its samples", store.ErrDamaged)
	}
	return h, nil
}

package sampler

import (
	"errors"
	"maps"
	"slices"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/store"
)

// roster is all that Save writes. Gob matches fields by name: adding or removing
// one needs no new version, a field with another meaning does.
type roster struct {
	Version     int
	Samples     *store.Saved
	Latest      *snapshot.Snapshot // nil before the first tick
	OutOfMemory map[snapshot.RowID]quantity.Optional[int64]
	Events      []snapshot.Event // newest first
	Drivers     []driverSpan
	GPUs        []*gpuRecord
	Rows        []*rowRecord // ended ones in order of their end, then live ones
	Alerts      []*alertSpan
	Outlooks    []keptOutlook
	Rules       []byte // the state of the alert rules

	// Series numbers the series of each of tables: a place among the saved series,
	// from 1; 0 is none.
	Series [][]uint32
}

const rosterVersion = 5

// roster is the state.
func (s *Sampler) roster() *roster {
	h := s.history
	h.mu.RLock()
	defer h.mu.RUnlock()
	r := &roster{Version: rosterVersion, Events: h.log.Newest(0), OutOfMemory: make(map[snapshot.RowID]quantity.Optional[int64])}
	if h.latest != nil {
		latest := *h.latest
		latest.Driver.Err = nil // errors cannot be encoded; Message has the text
		r.Latest = &latest
	}
	for id, row := range s.rows {
		if row.oom.Known() {
			r.OutOfMemory[id] = row.oom
		}
	}
	r.Drivers, r.Alerts = h.drivers, h.alerts
	r.GPUs = slices.Collect(maps.Values(h.gpus))
	r.Rows = slices.AppendSeq(slices.Clone(h.ended), maps.Values(h.rows))
	var all []*store.Series
	for _, table := range r.tables() {
		numbers := make([]uint32, len(*table))
		for i, series := range *table {
			if series != nil {
				all = append(all, series)
				numbers[i] = uint32(len(all))
			}
		}
		r.Series = append(r.Series, numbers)
	}
	r.Samples = h.store.Save(all)
	return r
}

// tables are the series of every record, in the order of the records.
func (r *roster) tables() []*metrics {
	var all []*metrics
	for _, g := range r.GPUs {
		all = append(all, &g.metrics)
		for _, in := range g.Instances {
			all = append(all, &in.metrics)
		}
	}
	for _, row := range r.Rows {
		all = append(all, &row.metrics)
	}
	return all
}

var errForeign = errors.New("sampler: restore: the samples are of other rows")

// takeSeries gives every record its series.
func (r *roster) takeSeries(series []*store.Series) error {
	tables := r.tables()
	if len(r.Series) != len(tables) {
		return errForeign
	}
	for i, table := range tables {
		if len(r.Series[i]) > len(recorded) {
			return errForeign
		}
		*table = make(metrics, len(r.Series[i]))
		for place, n := range r.Series[i] {
			switch {
			case n == 0:
			case int64(n) > int64(len(series)):
				return errForeign
			default:
				(*table)[place] = series[n-1]
			}
		}
	}
	return nil
}

// history makes a History of the roster and the samples.
func (r *roster) history() (*History, error) {
	samples, series, err := store.Load(r.Samples, store.Options{})
	if err != nil {
		return nil, err
	}
	if _, newest := samples.Span(); r.Latest == nil && !newest.IsZero() {
		return nil, errForeign
	}
	if err := r.takeSeries(series); err != nil {
		return nil, err
	}
	h := newHistory()
	h.store, h.latest, h.drivers, h.alerts = samples, r.Latest, r.Drivers, r.Alerts
	for _, event := range slices.Backward(r.Events) {
		h.log.Append(event)
	}
	for _, g := range r.GPUs {
		h.gpus[g.GPU.UUID] = g
	}
	for _, row := range r.Rows {
		switch {
		case row.Process == nil:
			return nil, errForeign
		case row.Ended.IsZero():
			h.rows[row.Process.ID] = row
		default:
			h.ended = append(h.ended, row)
		}
	}
	return h, nil
}

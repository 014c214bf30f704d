package history

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"vramscope/internal/sorted"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/store"
)

// History keeps recorded snapshots; it implements snapshot.History.
type History struct {
	mu      sync.RWMutex
	store   *store.Store
	events  []snapshot.Event // oldest first
	latest  *snapshot.Snapshot
	drivers spans[snapshot.Driver]
	gpus    map[string]*gpuRecord
	rows    map[snapshot.RowID]*rowRecord // of live processes
	ended   []*rowRecord                  // in order of their end
	alerts  []*alertSpan                  // in order of their raising
	pruned  time.Time
}

type alertSpan struct {
	Alert   snapshot.Alert
	From    time.Time
	Cleared time.Time // zero while it stands
}

const (
	maxEvents = 10_000
	maxEnded  = 5000
	maxAlerts = 2000
	maxGone   = 256 // absent GPUs; limited because probes can invent GPUs
)

func New() *History {
	return &History{
		store: store.New(),
		gpus:  make(map[string]*gpuRecord),
		rows:  make(map[snapshot.RowID]*rowRecord),
	}
}

func (h *History) Record(now time.Time, snap *snapshot.Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.latest = snap
	if !h.store.Begin(now) {
		return // neither the wall clock nor the monotonic clock has advanced
	}
	h.noteDriver(now, &snap.Driver)
	for i := range snap.GPUs {
		g := &snap.GPUs[i]
		r := h.gpus[g.UUID]
		if r == nil {
			r = &gpuRecord{First: now}
			h.gpus[g.UUID] = r
		}
		r.append(h.store, now, g)
	}
	for i := range snap.Rows {
		p := &snap.Rows[i]
		r := h.rows[p.ID]
		if r == nil {
			r = &rowRecord{First: now}
			h.rows[p.ID] = r
		}
		r.append(h.store, p)
		r.Tick = snap.Sequence
	}
	h.store.Commit()
	h.retire(now, snap.Sequence)
}

// retire moves the rows that are missing in this tick to the ended rows, and drops those that ended
// before the store's oldest sample or exceed maxEnded.
func (h *History) retire(now time.Time, sequence uint64) {
	for id, r := range h.rows {
		if r.Tick != sequence {
			r.Ended = now
			last := *r.Process // a copy, to free its snapshot
			r.Process = &last
			r.metrics.close()
			delete(h.rows, id)
			h.ended = append(h.ended, r)
		}
	}
	if now.Sub(h.pruned) < time.Minute && len(h.ended) <= maxEnded {
		return
	}
	h.pruned = now
	oldest, _ := h.store.Span()
	first := max(len(h.ended)-maxEnded, 0)
	for first < len(h.ended) && h.ended[first].Ended.Before(oldest) {
		first++
	}
	for _, r := range h.ended[:first] {
		for _, series := range r.metrics {
			series.Drop() // the store would keep its samples for the full span
		}
	}
	h.ended = slices.Delete(h.ended, 0, first)
	h.forgetGPUs(now)
}

// forgetGPUs drops the absent GPUs beyond maxGone, the longest absent first.
func (h *History) forgetGPUs(now time.Time) {
	var away []string
	for uuid, r := range h.gpus {
		if r.Last.Before(now) {
			away = append(away, uuid)
		}
	}
	slices.SortFunc(away, func(a, b string) int { return h.gpus[b].Last.Compare(h.gpus[a].Last) })
	for _, uuid := range away[min(maxGone, len(away)):] {
		h.gpus[uuid].close()
		delete(h.gpus, uuid)
	}
}

// NoteAlerts records the time for which each alert stands.
func (h *History) NoteAlerts(now time.Time, alerts []snapshot.Alert) {
	h.mu.Lock()
	defer h.mu.Unlock()
	stood := make(map[snapshot.AlertKey]bool)
	for _, span := range h.alerts {
		key := span.Alert.Key()
		switch {
		case !span.Cleared.IsZero():
		case slices.ContainsFunc(alerts, func(a snapshot.Alert) bool { return a.Key() == key }):
			stood[key] = true
		default:
			span.Cleared = now
		}
	}
	for _, a := range alerts {
		if !stood[a.Key()] {
			h.alerts = append(h.alerts, &alertSpan{Alert: a, From: now})
		}
	}
	if n := len(h.alerts); n > maxAlerts {
		h.alerts = slices.Delete(h.alerts, 0, n-maxAlerts)
	}
}

func (h *History) Span() (oldest, newest time.Time) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.store.Span()
}

func (h *History) Append(event snapshot.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.events = append(h.events, event); len(h.events) > maxEvents+maxEvents/10 {
		h.events = slices.Delete(h.events, 0, len(h.events)-maxEvents)
	}
}

func (h *History) Events(limit int) []snapshot.Event {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if limit <= 0 || limit > len(h.events) {
		limit = len(h.events)
	}
	newest := slices.Clone(h.events[len(h.events)-limit:])
	slices.Reverse(newest)
	return newest
}

func (h *History) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if series := h.find(key); series != nil && to.After(from) {
		return series.Buckets(from, to, buckets)
	}
	return snapshot.Points(from, to, buckets)
}

func (h *History) find(key snapshot.SeriesKey) *store.Series {
	if key.Row != (snapshot.RowID{}) {
		if r := h.rows[key.Row]; r != nil {
			return r.metrics.of(key.Metric)
		}
		for i := len(h.ended) - 1; i >= 0; i-- {
			if h.ended[i].Process.ID == key.Row {
				return h.ended[i].metrics.of(key.Metric)
			}
		}
		return nil
	}
	g := h.gpus[key.GPUUUID]
	if g == nil {
		return nil
	}
	if key.Instance.MIG {
		if in := g.instance(key.Instance); in != nil {
			return in.metrics.of(key.Metric)
		}
		return nil
	}
	return g.metrics.of(key.Metric)
}

func (h *History) At(t time.Time) (*snapshot.Snapshot, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	oldest, newest := h.store.Span()
	if newest.IsZero() || t.Before(oldest) {
		return nil, false
	}
	then := *h.latest
	then.Time, then.Past, then.ProbesUnasked = t, true, 0
	then.Host.MemoryUsed, then.Host.Load = snapshot.Bytes{}, snapshot.Float{}
	then.Driver, _ = h.drivers.at(t)
	then.Rows, then.GPUs, then.Ended, then.Alerts = nil, nil, nil, nil
	for _, r := range h.rows {
		if !r.First.After(t) {
			then.Rows = append(then.Rows, r.at(t))
		}
	}
	for _, r := range h.ended {
		if !r.First.After(t) && r.Ended.After(t) {
			then.Rows = append(then.Rows, r.at(t))
		}
	}
	snapshot.SortRows(then.Rows)
	for _, r := range h.gpus {
		if !r.First.After(t) && (!r.Last.Before(t) || !r.Last.Before(h.latest.Time)) {
			then.GPUs = append(then.GPUs, r.at(t, then.Rows))
		}
	}
	sorted.Stable(then.GPUs, func(a, b snapshot.GPU) int { return cmp.Compare(a.Index, b.Index) })
	for _, g := range h.latest.Ended {
		if !g.Ended.After(t) {
			then.Ended = append(then.Ended, g)
		}
	}
	for _, span := range h.alerts {
		if !span.From.After(t) && (span.Cleared.IsZero() || span.Cleared.After(t)) {
			then.Alerts = append(then.Alerts, span.Alert)
		}
	}
	return &then, true
}

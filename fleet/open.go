package fleet

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// Opened is one box of a fleet for the monitor's screen: its newest snapshot and its past. Only Run and
// At ask the source.
type Opened struct {
	source Source
	box    string
	every  time.Duration
	now    func() time.Time

	mu      sync.Mutex
	latest  *snapshot.Snapshot
	past    Past
	oldest  time.Time
	changed chan struct{}
}

// openedPast is how much of the past is fetched when a box is opened.
const openedPast = time.Hour

// Open fetches the present of a box. Run then fetches the past and newer snapshots.
func Open(ctx context.Context, source Source, box string, every time.Duration, now func() time.Time) (*Opened, error) {
	first, err := source.Box(ctx, box, time.Time{})
	if err != nil {
		return nil, err
	}
	// The screen measures ages by the source's clock.
	ahead := first.Time.Sub(now())
	o := &Opened{source: source, box: box, every: every, now: func() time.Time { return now().Add(ahead) }, past: Past{}, oldest: first.Time, changed: make(chan struct{}, 1)}
	o.take(first)
	return o, nil
}

// Run fetches the past once, and then the present at each interval, until the context ends.
func (o *Opened) Run(ctx context.Context) {
	first := o.Latest()
	if past, err := o.source.Past(ctx, o.box, first.Time.Add(-openedPast), first.Time.Add(-time.Second)); err == nil {
		o.mu.Lock()
		for key, samples := range past {
			o.past[key] = append(samples, o.past[key]...)
		}
		for _, samples := range o.past {
			o.oldest = quantity.Earlier(o.oldest, samples[0].Time)
		}
		o.mu.Unlock()
		token(o.changed)
	}
	ticker := time.NewTicker(o.every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if next, err := o.source.Box(ctx, o.box, time.Time{}); err == nil {
				o.take(next)
			} else if ctx.Err() == nil {
				o.fail(err)
			}
		}
	}
}

// take makes a snapshot the newest, and appends its figures to the past if they are newer.
func (o *Opened) take(s *snapshot.Snapshot) {
	s.Interval = o.every // the interval of the figures shown, not the box's own
	o.mu.Lock()
	if o.latest != nil {
		s.Sequence = o.latest.Sequence + 1
	}
	if o.latest == nil || s.Time.After(o.latest.Time) {
		o.append(s)
	}
	o.latest = s
	o.mu.Unlock()
	token(o.changed)
}

// fail keeps the last snapshot, and puts the reason first among its alerts.
func (o *Opened) fail(err error) {
	o.mu.Lock()
	stays := *o.latest
	stays.Sequence++
	stays.Alerts = slices.DeleteFunc(slices.Clone(stays.Alerts), func(a snapshot.Alert) bool { return a.Kind == alertSilent })
	stays.Alerts = slices.Insert(stays.Alerts, 0, silent(stays.Time, text.Clean(err.Error())))
	o.latest = &stays
	o.mu.Unlock()
	token(o.changed)
}

func silent(since time.Time, why string) snapshot.Alert {
	return snapshot.Alert{Kind: alertSilent, Severity: snapshot.Urgent, Since: since, Note: "no newer figures", Message: "no newer figures: " + why}
}

// alertSilent reports that the source has no newer figures of the box.
const alertSilent snapshot.AlertKind = "silent"

// Now returns the source's clock.
func (o *Opened) Now() time.Time { return o.now() }

func (o *Opened) append(s *snapshot.Snapshot) {
	add := func(key snapshot.SeriesKey, value snapshot.Float) {
		if v, known := value.Value(); known {
			o.past[key] = append(o.past[key], Sample{s.Time, metric.Table[key.Metric].Whole(v)})
		}
	}
	for i := range s.GPUs {
		g := &s.GPUs[i]
		for _, id := range metric.KeptOf(metric.GPU, metric.Recorded) {
			add(snapshot.SeriesKey{Metric: id, GPUUUID: g.UUID}, g.Value(id))
		}
		for _, in := range g.Instances {
			add(snapshot.SeriesKey{Metric: metric.Used, GPUUUID: g.UUID, Instance: in.ID}, quantity.As[float64](in.Memory.Used))
		}
	}
	for i := range s.Rows {
		p := &s.Rows[i]
		for _, id := range metric.KeptOf(metric.Process, metric.Recorded) {
			add(snapshot.SeriesKey{Metric: id, GPUUUID: p.ID.GPUUUID, Row: p.ID, Instance: p.ID.Instance}, p.Value(id))
		}
	}
	forget := s.Time.Add(-2 * openedPast)
	for key, samples := range o.past {
		if samples[len(samples)-1].Time.Before(forget) {
			delete(o.past, key) // the series has ended
		} else if samples[0].Time.Before(forget.Add(-openedPast)) {
			o.past[key] = append([]Sample(nil), samples[sort.Search(len(samples), func(i int) bool { return samples[i].Time.After(forget) }):]...)
		}
	}
}

func (o *Opened) Latest() *snapshot.Snapshot {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.latest
}

func (o *Opened) Updates() <-chan struct{} { return o.changed }

// At implements snapshot.History; the screen calls it in the background.
func (o *Opened) At(t time.Time) (*snapshot.Snapshot, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
	defer cancel()
	s, err := o.source.Box(ctx, o.box, t)
	if err != nil {
		return nil, false
	}
	s.Past, s.Interval = true, o.every
	return s, true
}

func (o *Opened) Span() (oldest, newest time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.oldest, o.latest.Time
}

// Events implements snapshot.History: no source has events.
func (o *Opened) Events(int) []snapshot.Event { return nil }

// Series implements snapshot.History. An engine has a sample for each scrape, so an empty bucket between
// two samples shows the earlier one, if that is younger than lookback.
func (o *Opened) Series(key snapshot.SeriesKey, from, to time.Time, buckets int) []snapshot.Point {
	o.mu.Lock()
	samples := o.past[key]
	o.mu.Unlock()
	points := snapshot.Points(from, to, buckets)
	at := sort.Search(len(samples), func(i int) bool { return samples[i].Time.After(from) })
	for i := range points {
		p := &points[i]
		for ; at < len(samples) && !samples[at].Time.After(p.Time); at++ {
			p.Add(samples[at].Value)
		}
		if !p.Known && at > 0 && at < len(samples) && p.Time.Sub(samples[at-1].Time) < lookback {
			p.Add(samples[at-1].Value)
		}
	}
	return points
}

// lookback is the longest usual time between two scrapes.
const lookback = time.Minute

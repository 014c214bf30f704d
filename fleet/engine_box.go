package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

func (p *Prometheus) Box(ctx context.Context, box string, at time.Time) (*snapshot.Snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	all, err := p.ask(ctx, fmt.Sprintf(`{__name__=~"vramscope_.+|DCGM_FI_.+|nvidia_smi_.+",instance=%s}`, strconv.Quote(box)), at)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errNoFigures
	}
	l := Line{Box: box}
	if !at.IsZero() {
		return boxOf(all, l.Name(), at), nil
	}
	snap := boxOf(all, l.Name(), p.engineTime())
	if age := p.standsStill(ctx, box, all); age > 0 {
		snap.Alerts = slices.Insert(snap.Alerts, 0, silent(snap.Time.Add(-age), "vramscope there last sampled "+quantity.BriefDuration(age)+" ago"))
	}
	return snap, nil
}

// standsStill returns the age of a box's figures if its exporter answers but no longer samples, 0 if it
// samples or if that is unknown.
func (p *Prometheus) standsStill(ctx context.Context, box string, all []series) time.Duration {
	i := slices.IndexFunc(all, func(s series) bool { return s.label("__name__") == exported(metric.LastSample) })
	if i < 0 {
		return 0
	}
	// The scrape interval may be a minute, so a younger sample proves nothing.
	age := p.engineTime().Sub(time.UnixMilli(int64(all[i].value * 1000))).Truncate(time.Second)
	if age < 2*oldest*time.Second {
		return 0
	}
	if goesOn, err := p.ask(ctx, moving([]string{box}), time.Time{}); err != nil || len(goesOn) > 0 {
		return 0
	}
	return age
}

var errNoFigures = errors.New("the engine has no figures of it now")

// pastPoints is roughly the number of points of each series.
const pastPoints = 240

// Past implements Source: memory, utilization, temperature and power.
func (p *Prometheus) Past(ctx context.Context, box string, from, to time.Time) (Past, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var names []string
	for _, names2 := range []map[string]metric.ID{ofGPU(), ofInstance(), ofProcess()} {
		for name, id := range names2 {
			if id <= metric.Returnable || id == metric.Utilization || id == metric.MemoryUtilization || id == metric.Temperature || id == metric.Power {
				names = append(names, name)
			}
		}
	}
	step := max(to.Sub(from)/pastPoints, time.Second).Truncate(time.Second)
	selector := "instance=" + strconv.Quote(box)
	query := "{" + oneOf("__name__", names) + "," + selector + "}"
	for _, e := range exporters[1:] {
		query += " or " + e.expression(used, selector, "uuid")
	}
	matrix, err := p.api.queryRange(ctx, query, from, to, step)
	if err != nil {
		return nil, err
	}
	past, foreign := Past{}, Past{}
	for _, stream := range matrix.Result {
		s := series{labels: stream.Metric}
		key, unit, ok := seriesKey(&s)
		if !ok {
			continue
		}
		into := past
		if s.label("__name__") == "" {
			into = foreign
		}
		for _, v := range stream.Values {
			if math.Abs(v.value) < maxMemory { // false for NaN, too
				into[key] = append(into[key], Sample{v.at, metric.Table[key.Metric].Whole(v.value * unit)})
			}
		}
	}
	for key, samples := range foreign {
		if past[key] == nil { // the figures of the box's own daemon are preferred
			past[key] = samples
		}
	}
	return past, nil
}

// seriesKey returns the history's key for a series, and the factor for its values.
func seriesKey(s *series) (key snapshot.SeriesKey, unit float64, ok bool) {
	name, uuid := s.label("__name__"), s.label("uuid")
	if id, found := ofGPU()[name]; found {
		return snapshot.SeriesKey{Metric: id, GPUUUID: uuid}, 1 / metric.Table[id].Unit.Base(1), true
	}
	if id, found := ofProcess()[name]; found {
		pid, err := strconv.Atoi(s.label("pid"))
		row := snapshot.RowID{Process: process.Identity{PID: max(pid, 0), StartTime: 1}, GPUUUID: uuid, Instance: instanceOf(s.label("mig"))}
		return snapshot.SeriesKey{Metric: id, GPUUUID: uuid, Row: row, Instance: row.Instance}, 1, err == nil
	}
	if id, found := ofInstance()[name]; found {
		instance := instanceOf(s.label("mig"))
		return snapshot.SeriesKey{Metric: id, GPUUUID: uuid, Instance: instance}, 1, instance.MIG
	}
	if name == "" { // another exporter's used memory, from expression
		return snapshot.SeriesKey{Metric: metric.Used, GPUUUID: uuid}, 1, uuid != ""
	}
	return key, 0, false
}

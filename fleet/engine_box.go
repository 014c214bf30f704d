package fleet

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"vramscope/internal/process"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// Box implements Source.
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
	if at.IsZero() {
		at = p.engineTime()
	}
	l := Line{Box: box}
	return boxOf(all, l.Name(), at), nil
}

var errNoFigures = errors.New("the engine has no figures of it now")

// pastPoints is how many points of each series are asked for.
const pastPoints = 240

// Past implements Source: the memory of a box's GPUs and processes.
func (p *Prometheus) Past(ctx context.Context, box string, from, to time.Time) (Past, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	var names []string
	for _, names2 := range []map[string]metric.ID{ofGPU, ofInstance, ofProcess} {
		for name, id := range names2 {
			if id <= metric.Returnable || id == metric.Utilization || id == metric.MemoryUtilization || id == metric.Temperature || id == metric.Power {
				names = append(names, name)
			}
		}
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, explain(ctx.Err())
	}
	step := max(to.Sub(from)/pastPoints, time.Second).Truncate(time.Second)
	of := "instance=" + strconv.Quote(box)
	query := "{" + oneOf("__name__", names) + "," + of + "}"
	for _, e := range exporters[1:] {
		query += " or " + e.expression(used, of, "uuid")
	}
	value, _, _, err := p.api.QueryRange(ctx, query, v1.Range{Start: from, End: to, Step: step}, v1.WithTimeout(queryTimeout))
	if err != nil {
		return nil, explain(err)
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return nil, fmt.Errorf("it answers with a %s, not with a matrix", value.Type())
	}
	past, foreign := Past{}, Past{}
	for _, stream := range matrix {
		s := series{labels: stream.Metric}
		key, unit, ok := seriesKey(&s)
		if !ok {
			continue
		}
		into := past
		if s.label("__name__") == "" {
			into = foreign
		}
		for _, pair := range stream.Values {
			into[key] = append(into[key], Sample{pair.Timestamp.Time(), metric.Table[key.Metric].Whole(float64(pair.Value) * unit)})
		}
	}
	for key, samples := range foreign {
		if past[key] == nil { // else the box's own daemon has it
			past[key] = samples
		}
	}
	return past, nil
}

// seriesKey is the history's name for a series, and what its values are multiplied by.
func seriesKey(s *series) (key snapshot.SeriesKey, unit float64, ok bool) {
	name, uuid := s.label("__name__"), s.label("uuid")
	if id, of := ofGPU[name]; of {
		return snapshot.SeriesKey{Metric: id, GPUUUID: uuid}, 1 / metric.Table[id].Unit.Base(1), true
	}
	if id, of := ofProcess[name]; of {
		pid, err := strconv.Atoi(s.label("pid"))
		row := snapshot.RowID{Process: process.Identity{PID: max(pid, 0), StartTime: 1}, GPUUUID: uuid, Instance: instanceOf(s.label("mig"))}
		return snapshot.SeriesKey{Metric: id, GPUUUID: uuid, Row: row, Instance: row.Instance}, 1, err == nil
	}
	if id, of := ofInstance[name]; of {
		instance := instanceOf(s.label("mig"))
		return snapshot.SeriesKey{Metric: id, GPUUUID: uuid, Instance: instance}, 1, instance.MIG
	}
	if name == "" { // another exporter's memory in use, from expression
		return snapshot.SeriesKey{Metric: metric.Used, GPUUUID: uuid}, 1, uuid != ""
	}
	return key, 0, false
}

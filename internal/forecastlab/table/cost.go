package main

import (
	"fmt"
	"time"
	"unsafe"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/regime"
)

// manySeries is what a monitor follows on 16 GPUs with 64 processes each: two series a
// process, one a GPU.
const manySeries = 16*64*2 + 16

// cost is what a sample of one of so many series takes: memory that the processor has
// not touched for a whole round.
type cost struct {
	nanoseconds backtest.Figure
	bytes       uintptr
}

func measureCost(now func() time.Time) cost {
	const warm, rounds = 120, 60
	all := make([]*forecast.Forecaster, manySeries)
	var levels [][]float64
	for _, g := range regime.Plain() {
		levels = append(levels, g.Make(regime.Seeded(13)))
	}
	for i := range all {
		all[i] = forecast.New()
	}
	room := make([]forecast.Interval, 0, len(forecast.Horizons))
	at := time.Unix(0, 0)
	round := func(t int) {
		at = at.Add(time.Second)
		for i, f := range all {
			y := levels[i%len(levels)]
			f.Observe(at, int64(y[(t+i)%len(y)]))
			room = f.Forecasts(room[:0])
			f.FullIn(1 << 33)
			f.Trend()
		}
	}
	for t := range warm {
		round(t)
	}
	began := now()
	for t := range rounds {
		round(warm + t)
	}
	return cost{
		nanoseconds: backtest.Figure(now().Sub(began).Nanoseconds()) / (rounds * manySeries),
		bytes:       unsafe.Sizeof(forecast.Forecaster{}),
	}
}

func (c *cost) gates() []gate {
	sample := gate{what: fmt.Sprintf("cost of a sample at %d series", manySeries), aim: "≤ 3.0 µs"}
	sample.most("CPU time", c.nanoseconds/1e3, 3, func(v backtest.Figure) string { return written("%.1f µs", v) })
	bytes := gate{what: "memory of a series", aim: "≤ 12.0 KB"}
	bytes.most("forecaster", backtest.Figure(c.bytes)/1e3, 12, func(v backtest.Figure) string { return written("%.1f KB", v) })
	return []gate{sample, bytes}
}

package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/baseline"
	"vramscope/internal/forecastlab/regime"
	"vramscope/sampler/replay"
)

// method is what is measured.
type method struct {
	name string
	make func(*backtest.Series) backtest.Method
}

// methods are the forecaster, then the baselines.
func methods() []method {
	all := []method{{"vramscope", func(*backtest.Series) backtest.Method { return forecast.New() }}}
	for _, b := range baseline.All() {
		all = append(all, method{b.Name, func(*backtest.Series) backtest.Method { return b.New() }})
	}
	return all
}

// seeds are those of the series of each regime.
type seeds struct{ first, count uint64 }

// replays are the scores of a method's forecasts of several series.
func replays(all []*backtest.Series, start func(*backtest.Series) backtest.Method) ([]*backtest.Score, error) {
	var scores []*backtest.Score
	for _, s := range all {
		score, err := backtest.Replay(start(s), s, nil)
		if err != nil {
			return nil, fmt.Errorf("score %s: %w", s.ID, err)
		}
		scores = append(scores, score)
	}
	return scores, nil
}

// row are the figures of a regime.
type row struct {
	*regime.Regime
	summaries []backtest.Summary // in the order of methods
	monitor   backtest.Summary
	young     int // alarms that the monitor raised in the first minute of a series
}

// measured are the figures of the forecaster, the baselines and the monitor.
type measured struct{ rows []row }

// measure takes every method, and the monitor, through the regimes.
func measure(s seeds, regimes []regime.Regime) (*measured, error) {
	m := &measured{rows: make([]row, len(regimes))}
	return m, parallel(len(regimes), func(i int) (err error) {
		m.rows[i], err = measureRow(&regimes[i], s)
		return err
	})
}

func measureRow(g *regime.Regime, s seeds) (row, error) {
	r, series := row{Regime: g}, make([]*backtest.Series, s.count)
	for i := range series {
		seed := s.first + uint64(i)
		series[i] = backtest.Evenly(seriesName(g.Name, seed), g.Every(), int64(regime.Capacity), g.Make(regime.Seeded(seed)))
	}
	for _, method := range methods() {
		scores, err := replays(series, method.make)
		if err != nil {
			return r, fmt.Errorf("%s on %s: %w", method.name, g.Name, err)
		}
		r.summaries = append(r.summaries, backtest.Summarise(scores...))
	}
	scores, err := replays(series, func(s *backtest.Series) backtest.Method { return replay.New(s) })
	if err != nil {
		return r, fmt.Errorf("the monitor on %s: %w", g.Name, err)
	}
	r.monitor = backtest.Summarise(scores...)
	for _, score := range scores {
		for _, at := range score.Filling.Raised {
			if at < 60 {
				r.young++
			}
		}
	}
	return r, nil
}

func seriesName(regime string, seed uint64) string {
	return fmt.Sprintf("%s/%d", strings.NewReplacer(" ", "-", ",", "").Replace(regime), seed)
}

// parallel calls for each index, as many at once as there are processors. It returns
// the first error.
func parallel(n int, call func(i int) error) error {
	errs, free := make([]error, n), make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i := range n {
		free <- struct{}{}
		all.Go(func() {
			errs[i] = call(i)
			<-free
		})
	}
	all.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return errs[i]
	}
	return nil
}

// row is a regime's row.
func (m *measured) row(name string) *row {
	i := slices.IndexFunc(m.rows, func(r row) bool { return r.Name == name })
	if i < 0 {
		panic("no regime is called " + name) // the names are written in this package
	}
	return &m.rows[i]
}

// own is the forecaster's summary in a regime.
func (m *measured) own(name string) *backtest.Summary { return &m.row(name).summaries[0] }

// rival is the baseline with the smallest error at a horizon.
func (r *row) rival(horizon int) (name string, best backtest.Figure) {
	best = unknown
	for j, b := range baseline.All() {
		if v := r.summaries[1+j].Horizons[horizon].Relative; v.Known() && !(v >= best) {
			name, best = b.Name, v
		}
	}
	return name, best
}

// overall is the geometric mean of the forecaster's relative errors over the regimes.
func (m *measured) overall(horizon int) backtest.Figure {
	logs, known := 0.0, 0
	for i := range m.rows {
		if v := m.rows[i].summaries[0].Horizons[horizon].Relative; v.Known() {
			logs += math.Log(float64(v))
			known++
		}
	}
	return backtest.Figure(math.Exp(logs / float64(known)))
}

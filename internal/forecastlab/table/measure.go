package main

import (
	"fmt"
	"math"
	"runtime"
	"slices"
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

// each calls for every seed.
func (s seeds) each(call func(seed uint64) error) error {
	for seed := s.first; seed < s.first+s.count; seed++ {
		if err := call(seed); err != nil {
			return err
		}
	}
	return nil
}

// replays are the scores of a method's forecasts of several series.
func replays(all []*backtest.Series, begin func(*backtest.Series) backtest.Method) ([]*backtest.Score, error) {
	var scores []*backtest.Score
	for _, s := range all {
		score, err := backtest.Replay(begin(s), s, nil)
		if err != nil {
			return nil, fmt.Errorf("score %s: %w", s.ID, err)
		}
		scores = append(scores, score)
	}
	return scores, nil
}

// scored is what a method's forecasts of several series are worth.
func scored(all []*backtest.Series, begin func(*backtest.Series) backtest.Method) (backtest.Summary, error) {
	scores, err := replays(all, begin)
	return backtest.Summarise(scores...), err
}

// row are the figures of a regime.
type row struct {
	regime    string
	summaries []backtest.Summary // by method
	same      [len(forecast.Horizons)]float64
	monitor   backtest.Summary
	young     int // alarms that the monitor raised in the first minute of a series
}

// measured are the figures of the forecaster, the baselines and the monitor.
type measured struct {
	seeds   seeds
	methods []string
	rows    []row
}

// measure takes every method, and the monitor, through the regimes.
func measure(s seeds, regimes []regime.Regime) (*measured, error) {
	m := &measured{seeds: s, rows: make([]row, len(regimes))}
	for _, method := range methods() {
		m.methods = append(m.methods, method.name)
	}
	return m, parallel(len(regimes), func(i int) (err error) {
		m.rows[i], err = measureRow(&regimes[i], s)
		return err
	})
}

func measureRow(g *regime.Regime, s seeds) (row, error) {
	r, series := row{regime: g.Name}, made(g, s)
	for j, method := range methods() {
		scores, err := replays(series, method.make)
		if err != nil {
			return r, fmt.Errorf("%s on %s: %w", method.name, g.Name, err)
		}
		r.summaries = append(r.summaries, backtest.Summarise(scores...))
		if j == 0 {
			r.same = sameShares(scores)
		}
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

// sameShares are the shares of samples, by horizon, at which memory is what it was.
func sameShares(scores []*backtest.Score) (shares [len(forecast.Horizons)]float64) {
	for k := range shares {
		same, all := 0, 0
		for _, s := range scores {
			same, all = same+s.At[k].Same, all+s.At[k].Scored
		}
		shares[k] = float64(same) / float64(max(all, 1))
	}
	return shares
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

// made are the series of a regime.
func made(g *regime.Regime, s seeds) []*backtest.Series {
	all := make([]*backtest.Series, s.count)
	for i := range all {
		seed := s.first + uint64(i)
		all[i] = backtest.Evenly(seriesName(g.Name, seed), g.Every(), int64(regime.Capacity), g.Make(regime.Seeded(seed)))
	}
	return all
}

// of is a regime's row.
func (m *measured) of(name string) *row {
	i := slices.IndexFunc(m.rows, func(r row) bool { return r.regime == name })
	if i < 0 {
		panic("no regime is called " + name) // the names are written in this package
	}
	return &m.rows[i]
}

// overall is the geometric mean of a method's relative errors over the regimes.
func (m *measured) overall(method, horizon int) backtest.Figure {
	return geometric(len(m.rows), func(i int) backtest.Figure { return m.rows[i].summaries[method].Horizons[horizon].Relative })
}

// geometric is the geometric mean of the figures that are known.
func geometric(n int, figure func(i int) backtest.Figure) backtest.Figure {
	logs, known := 0.0, 0
	for i := range n {
		if v := figure(i); v.Known() {
			logs += math.Log(float64(v))
			known++
		}
	}
	return backtest.Figure(math.Exp(logs / float64(known)))
}

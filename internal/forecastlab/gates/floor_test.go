package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"vramscope/forecast"
	"vramscope/forecast/backtest"
	"vramscope/internal/forecastlab/regime"
)

// The floors of gates 1, 5 and 8: the scores of an oracle that knows more than a forecaster can.
//
//	go test ./internal/forecastlab/gates -run '^$' -bench Floor -benchtime 1x

// oracle knows how a series is made and which numbers were drawn so far. It does not know the last
// few numbers if other numbers would have given the same samples. Its forecasts are quantiles of
// futures that it draws.
type oracle struct {
	make  func(*rand.Rand) []float64
	y     []float64
	drawn [][]uint64 // the numbers drawn before each sample
}

// replayed is a source of numbers that repeats drawn, and then draws others.
type replayed struct {
	drawn []uint64
	n     int
	rand.Source
}

func (s *replayed) Uint64() uint64 {
	if s.n == len(s.drawn) {
		s.drawn = append(s.drawn, s.Source.Uint64())
	}
	s.n++
	return s.drawn[s.n-1]
}

func newOracle(make func(*rand.Rand) []float64, seed uint64) *oracle {
	o, s := &oracle{make: make}, &replayed{Source: rand.NewPCG(seed, 42)}
	regime.At = func(int) bool { o.drawn = append(o.drawn, s.drawn[:s.n:s.n]); return true }
	defer func() { regime.At = nil }()
	o.y = make(rand.New(s))
	o.drawn = append(o.drawn, s.drawn)
	return o
}

// play makes the series again, up to the sample until. Up to the sample now it draws the given
// numbers, after that fresh ones.
func (o *oracle) play(drawn []uint64, now, until int, fresh rand.Source) []float64 {
	s := &replayed{drawn: slices.Clone(drawn), Source: fresh}
	regime.At = func(i int) bool {
		if i == now+1 {
			s.drawn = s.drawn[:s.n]
		}
		return i <= until
	}
	defer func() { regime.At = nil }()
	return o.make(rand.New(s))
}

// futures draws n continuations after a sample.
func (o *oracle) futures(now, ahead, n int, fresh rand.Source) [][]float64 {
	const unseen = 6 // how many of the last draws may have had no effect yet
	all := make([][]float64, n)
	for k := range all {
		drawn := slices.Clone(o.drawn[now+1])
		for j := max(len(drawn)-unseen, 0); j < len(drawn); j++ {
			other := slices.Clone(drawn)
			other[j] = fresh.Uint64()
			if slices.Equal(o.play(other, now, now, fresh), o.y[:now+1]) {
				drawn = other
			}
		}
		all[k] = o.play(drawn, now, now+ahead, fresh)[now+1:]
	}
	return all
}

// An oracle repeats the past, and its futures differ.
func TestOracleRepeatsThePast(t *testing.T) {
	o := newOracle(regime.Noise, 3)
	if got := regime.Noise(regime.Seeded(3)); !slices.Equal(got, o.y) {
		t.Fatal("the series is another")
	}
	fresh := rand.NewPCG(1, 2)
	if got := o.play(o.drawn[101], 100, 160, fresh); !slices.Equal(got[:101], o.y[:101]) || len(got) != 161 || got[160] == o.y[160] {
		t.Error("the past changes, or the future is known")
	}
	if f := o.futures(100, 60, 2, fresh); len(f[0]) != 60 || slices.Equal(f[0], f[1]) {
		t.Error("there is one future")
	}
}

// BenchmarkFloorError measures the floor of gate 1, in the second half of each series.
func BenchmarkFloorError(b *testing.B) {
	const first, origins, drawn = 40_000, 25, 15
	families, logs := regime.Families(), 0.0
	for range b.N {
		logs = 0
		for _, family := range families {
			for k := range family.Regimes {
				g, n := &family.Regimes[k], 18/len(family.Regimes)
				for i := range n {
					seed := uint64(first + i)
					o, fresh, r := newOracle(g.Make, seed), rand.NewPCG(seed, 7), rand.New(rand.NewPCG(seed, 9))
					ahead, miss, still := int(60/g.Every()), origins*regime.MiB, origins*regime.MiB
					for range origins {
						now := len(o.y)/2 + r.IntN(max(len(o.y)/2-ahead-1, 1))
						if now+ahead >= len(o.y) {
							continue
						}
						var at []float64
						for _, y := range o.futures(now, ahead, drawn, fresh) {
							at = append(at, append(y, regime.Capacity)[min(ahead-1, len(y))])
						}
						slices.Sort(at)
						miss += math.Abs(at[drawn/2] - o.y[now+ahead])
						still += math.Abs(o.y[now] - o.y[now+ahead])
					}
					logs += math.Log(miss/still) / float64(n*len(family.Regimes)*len(families))
				}
			}
		}
	}
	b.ReportMetric(math.Exp(logs), "error")
}

// BenchmarkFloorBursts measures the floor of gate 5. Like the forecaster, the oracle announces no
// time beyond 15 minutes.
func BenchmarkFloorBursts(b *testing.B) {
	const first, drawn = 41_000, 39
	var full fitted
	for range b.N {
		full = fitted{}
		for i := range 18 {
			seed := uint64(first + i)
			for _, g := range regime.All() {
				if g.Name != "bursts" {
					continue
				}
				o, fresh := newOracle(g.Make, seed), rand.NewPCG(seed, 3)
				for left := 60; left < min(900, len(o.y)/2); left += 20 {
					var at []time.Duration
					for _, y := range o.futures(len(o.y)-1-left, 3000, drawn, fresh) {
						at = append(at, time.Duration(len(y))*time.Second)
					}
					slices.Sort(at)
					in := forecast.FullIn{Earliest: at[3], Median: at[19], Latest: at[35]}
					full.addFull(&backtest.Answer{Full: in, Fills: in.Median < 15*time.Minute}, float64(left), float64(len(o.y)-1-left))
				}
			}
		}
	}
	b.ReportMetric(full.full.value(), "score")
}

// BenchmarkFloorRamps measures the floor of gate 8. An oracle that knows the texture and the ramp's
// slope waits until memory is above all earlier samples. If memory grows as fast as in a load, it
// also waits for a minute, or until a minute is left. An alert needs three more forecasts.
func BenchmarkFloorRamps(b *testing.B) {
	const first, n, forecasts = 41_000, 60, 3
	for which := range regime.RampTextures {
		led := 0
		for i := range n {
			y, begins := regime.TexturedRamp(regime.Seeded(uint64(first+i)), which)
			lasts, above := float64(len(y)-1)-begins, 0
			top := slices.Max(y[:int(begins)])
			for y[int(begins)+above] <= top {
				above++
			}
			waits := float64(above)
			if (regime.Capacity-y[int(begins)])/lasts >= 64*regime.MiB {
				waits = max(waits, min(60, lasts-60))
			}
			if waits+forecasts <= lasts/2 {
				led++
			}
		}
		b.ReportMetric(100*float64(led)/n, "%"+string(rune('0'+which)))
	}
}

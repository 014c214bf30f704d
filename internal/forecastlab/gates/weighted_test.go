package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

const gib = 1 << 30

func minuteAhead(y []float64) float64 {
	w := newWeighted(60, 1)
	for _, v := range y {
		w.observe(v)
	}
	return y[len(y)-1] + w.change()
}

func made(n int, level func(i int) float64) []float64 {
	y := make([]float64, n)
	for i := range y {
		y[i] = level(i)
	}
	return y
}

func TestWeightedExpertsFollowALineAndReturnToAMean(t *testing.T) {
	bent := made(200, func(i int) float64 { return 10*gib + float64(max(i-100, 0))*gib/100 })
	if got, want := minuteAhead(bent), bent[199]+60*gib/100.; math.Abs(got-want) > 0.02*gib {
		t.Errorf("%.3f GiB, want %.3f", got/gib, want/gib)
	}
	r := rand.New(rand.NewPCG(1, 2))
	noise := made(500, func(int) float64 { return 20*gib + gib*r.NormFloat64() })
	if got := minuteAhead(noise); math.Abs(got-20*gib) > gib/4 {
		t.Errorf("%.3f GiB of noise around 20", got/gib)
	}
}

func TestWeightedExpertsRepeatSawtooth(t *testing.T) {
	saw := func(i int) float64 { return 20*gib + 4*gib*float64(i%47)/47 + float64(i)*gib/1000 }
	for n := 900; n < 950; n += 9 {
		if got, want := minuteAhead(made(n, saw)), saw(n-1+60); math.Abs(got-want) > 0.4*gib {
			t.Errorf("after %d samples: %.2f GiB, want %.2f", n, got/gib, want/gib)
		}
	}
	if p := period(made(600, func(i int) float64 { return math.Sin(float64(i * i)) })); p != 0 {
		t.Errorf("noise has a period of %d", p)
	}
}

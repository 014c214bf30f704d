package main

import (
	"math"
	"slices"
)

// probabilities are the quantiles that are scored.
var probabilities = [...]float64{0.025, 0.1, 0.5, 0.9, 0.975}

type quantiles [len(probabilities)]float64

// crps returns the weighted interval score, which approximates the continuous ranked
// probability score from a median and two intervals (Bracher, Ray, Gneiting, Reich,
// Evaluating epidemic forecasts in an interval format, 2021).
func (q quantiles) crps(y float64) float64 {
	interval := func(low, high, alpha float64) float64 {
		return alpha/2*(high-low) + max(low-y, 0) + max(y-high, 0)
	}
	return (math.Abs(y-q[2])/2 + interval(q[0], q[4], 0.05) + interval(q[1], q[3], 0.2)) / 2.5
}

// conformal adds quantiles to the naive method. They come from the method's errors so far over the
// same distance, or from a random walk while there are few errors.
type conformal struct {
	ahead  int // samples
	made   []float64
	errors []float64
	offset quantiles
	moved  float64 // mean change from sample to sample
}

func (c *conformal) observe(y float64) {
	const kept, few = 200, 9 // errors
	i := len(c.made)
	if i > 0 {
		c.moved += (math.Abs(y-c.made[i-1]) - c.moved) / float64(i)
	}
	c.made = append(c.made, y)
	if i >= c.ahead && i%max(c.ahead/10, 1) == 0 {
		c.errors = append(c.errors, y-c.made[i-c.ahead])
		c.errors = c.errors[max(len(c.errors)-kept, 0):]
		sorted := slices.Sorted(slices.Values(c.errors))
		n := float64(len(sorted))
		for k, p := range probabilities {
			c.offset[k] = sorted[int(min(max(math.Round(p*(n+1))-1, 0), n-1))]
		}
		c.offset[2] = 0
	}
	if len(c.errors) < few {
		for k, p := range probabilities {
			c.offset[k] = math.Sqrt2 * math.Erfinv(2*p-1) * c.moved * math.Sqrt(float64(c.ahead))
		}
	}
}

func (c *conformal) forecast() (q quantiles) {
	for k, offset := range c.offset {
		q[k] = c.made[len(c.made)-1] + offset
	}
	return q
}

package regime

import (
	"math"
	"math/rand/v2"
)

// RampTextures are the names of what lies on the ramps of TexturedRamp.
var RampTextures = [...]string{clean: "clean", teeth: "teeth", trainAndEvaluate: "train and evaluate", noisy: "noise", inSteps: "steps"}

// TexturedRamp is a level out of which a straight line leads to full within one and a half
// to ten minutes, and when it begins, in seconds.
func TexturedRamp(r *rand.Rand, which int) (y []float64, begins float64) {
	base, lasts := between(r, 5, 55)*GiB, logarithmic(r, 90, 600)
	begins = logarithmic(r, 300, 2400)
	height, moves := texture(r, which)
	every := 1.0
	if which == inSteps {
		every = math.Round(between(r, 4, 8))
	}
	rate := (Capacity - base - height) / lasts
	return series(int(begins+lasts)+300, func(t float64) float64 {
		return base + moves(t) + rate*every*math.Floor(max(t-begins, 0)/every)
	}), begins
}

// Saturating is a cache that grows ever more slowly, after a while at a level, and never
// fills the GPU.
func Saturating(r *rand.Rand) []float64 {
	base, top, fade := between(r, 5, 30)*GiB, between(r, 35, 68)*GiB, logarithmic(r, 60, 900)
	begins, size := logarithmic(r, 120, 1800), trembling(r)
	return series(int(begins+6*fade)+600, func(t float64) float64 {
		return base + (top-base)*saturation(max(t-begins, 0)/fade) + size*r.NormFloat64()
	})
}

// LateLoads is a process that idles, loads weights, and frees them at times.
func LateLoads(r *rand.Rand) []float64 {
	level := idleNotebook(r).level
	return series(7200, level)
}

// LateLeak is a leak that fills the GPU in twenty minutes to four hours, out of a level with
// a texture, and when it begins, in seconds.
func LateLeak(r *rand.Rand) (y []float64, begins float64) {
	base, lasts := between(r, 5, 50)*GiB, logarithmic(r, 1200, 14_400)
	begins = logarithmic(r, 600, 7200)
	height, moves := texture(r, r.IntN(inSteps))
	rate := (Capacity - base - height) / lasts
	return series(int(begins+lasts)+300, func(t float64) float64 { return base + moves(t) + rate*max(t-begins, 0) }), begins
}

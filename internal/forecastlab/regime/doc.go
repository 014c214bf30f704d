// Package regime makes series of GPU memory to try forecasts on: samples of a GPU of 80 GiB,
// mostly one a second, of the kinds that are known from real programs. A generator draws its own
// parameters (heights, rates, periods, noise) from a seed: the same seed gives the same series.
// Shared makes a GPU that jobs share for any length of time.
//
//	All → Regime.Make(Seeded(n)) → bytes, sample by sample
//
// Start reading at All (regime.go).
package regime

// Package regime makes series of the kinds that GPU memory is known for, to try
// forecasts on: samples of a GPU of 80 GiB, mostly one a second. A generator draws
// its own parameters (heights, rates, periods, noise): each seed is another job, and
// always the same one. Shared is a GPU that jobs share for as long as you like.
//
//	All → Regime.Make(Seeded(n)) → bytes, sample by sample
//
// Start reading at All (regime.go).
package regime

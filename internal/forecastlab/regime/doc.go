// Package regime makes series of the kinds that GPU memory is known for, to try forecasts on:
// samples of a GPU of 80 GiB, mostly one a second. A generator draws its own parameters (heights,
// rates, periods, noise): each seed makes a different job, and always the same one. Shared makes a
// GPU that jobs share for any length of time.
//
//	All → Regime.Make(Seeded(n)) → bytes, sample by sample
//
// Start reading at All (regime.go).
package regime

// Package regime makes series of the kinds that GPU memory is known for, to try
// forecasts on. Each is one sample a second of a GPU of 80 GiB. A generator draws its
// own parameters (heights, rates, periods, noise): each seed is another job, and
// always the same one.
//
//	All → Regime.Make(Seeded(n)) → bytes, second by second
//
// Start reading at All (regime.go).
package regime

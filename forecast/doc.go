// Package forecast predicts memory: a median with intervals at each horizon, when
// a GPU will be full, and what a series does (leak, sawtooth…). It works on pure
// numbers, bytes and times, and knows neither GPUs nor processes.
//
//	sample ─┬→ records: due forecasts meet what happened ───────────────┐
//	        ├→ regressions over 8 s, 60 s and 300 s ─────────→ claims ──┼→ expert weights → Interval, FullIn
//	        ├→ median, autoregression of the past ───────────→ claims ──┤         ↑
//	        ├→ peaks, and the past in bins → seasonal phase ─→ claim ───┘         │
//	        ├→ a line since the last large miss → changepoint ────────────────────┘
//	        └→ minima of windows, turning points ─────────────────────────────→ Trend
//
// Start reading at Forecaster.Observe (forecaster.go), then outlook.go.
//
// # Method
//
// GPU memory moves in steps. On long recordings the naive forecast, "it stays as
// it is", is nearly unbeatable; what can be gained is gained in regimes: leaks,
// staircases, sawtooths, warm-up, noise. So each expert claims a change, and a
// claim counts as far as earlier claims of that expert came true.
//
// The experts (experts.go) cost O(1) a sample:
//
//   - three on discounted least squares (Brown, Smoothing, Forecasting and
//     Prediction, 1963): the slope of the last seconds, that of the last minute, and
//     the line of the last five; slopes fade where a parabola shows that growth does;
//   - the median of ten minutes;
//   - a first-order autoregression of the last half hour (Box, Jenkins, Reinsel,
//     Ljung, Time Series Analysis, 5th ed., chapter 3). It counts samples; all
//     others count elapsed time, so that late, missing and irregular samples need
//     no special case;
//   - the seasonal naive one with drift (FPP3 5.2), in phase with a sawtooth
//     instead of with the clock (seasonal_phase.go).
//
// Expert weights (weights.go): forecasts wait until they are due and are then
// compared with the first sample since. Every expert has, at each horizon, a
// discounted loss in proportion to the naive one's, and the share of its claims that
// came true. Forecasts count by the size of the claim: a plateau teaches nothing
// about leaks, and a leak that follows is believed after a few claims of its size. A
// horizon without experience borrows from the next shorter one, the shortest from
// the naive forecast. The median is y + w·claim, where w is the share, and zero
// unless the expert beats naive.
//
// Intervals (residuals.go) are quantiles of the errors that the published forecasts
// made at that horizon, with conformal ranks (Vovk, Gammerman, Shafer, Algorithmic
// Learning in a Random World, 2005). While there are few errors, the interval is
// that of the next shorter horizon, widened by a power of how much farther it is.
//
// Changepoint (changepoint.go): a forecast that misses far beyond the usual error
// begins a line, least squares over the samples since, which ends where a sample lies
// off it. Until forecasts made since have come due, intervals extend along that line
// as far as a course goes that has lasted so long (Gott, Nature 363, 1993). After
// eighteen seconds, if it leads above all that was there before, it also says when
// the GPU will be full (full.go), long before the experts follow it.
//
// A leak (leak.go) is tested with Mann (1945), Kendall (1975), Theil (1950), Sen
// (1968), and the error of a local level (Harvey, Forecasting, Structural Time Series
// Models and the Kalman Filter, 1989, chapter 2).
//
// # Known limits
//
// docs/forecast.md has the figures. The first cycle of a series that lasts longer
// than seven minutes looks like a leak, and so does a warm-up in large random
// steps, for some minutes. Growth that fades more slowly than in half an hour and
// twice the time watched is called a leak. A leak whose rate wanders is at times
// only growing, and large steps on top of one can hide it. Ten minutes ahead an
// uneven sawtooth is forecast no better than by naive. A changepoint takes some
// seconds to be seen, under a sawtooth minutes, and until then intervals are too
// narrow. A burst of growth within a leak makes the time to full too
// short. Where several jobs share a GPU, one that ends is a step, and what was
// learnt of it stays.
package forecast

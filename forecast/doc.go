// Package forecast predicts memory: a median with intervals at each horizon, when
// a GPU will be full, and what a series does (leak, sawtooth…). It works on pure
// numbers, bytes and times, and knows neither GPUs nor processes.
//
//	sample ─┬→ records: due forecasts meet what happened ───────────────┐
//	        ├→ damped Holt, regressions over 60 s and 300 s ─→ claims ──┼→ expert weights → Interval, FullIn
//	        ├→ mean, median, autoregression of the past ─────→ claims ──┤         ↑
//	        ├→ peaks, and the past in bins → seasonal phase ─→ claim ───┘         │
//	        ├→ a line through the last seconds → changepoint ─────────────────────┘
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
// The experts (experts.go):
//
//   - the damped Holt, ETS(A,Ad,N), in error-correction form (α .8, β* .1, φ .98
//     per second): Hyndman, Koehler, Ord, Snyder, Forecasting with Exponential
//     Smoothing (2008); Hyndman & Athanasopoulos, Forecasting: Principles and
//     Practice (FPP3), 3rd ed., chapter 8;
//   - three on discounted least squares (Brown, Smoothing, Forecasting and
//     Prediction, 1963): the slope of the last minute, that of the last five, and
//     the long line itself. Where a parabola shows that growth slows down, slopes
//     fade as fast as they do now;
//   - two that return to a level: simple exponential smoothing over half an hour,
//     and the median of ten minutes;
//   - one that approaches a level as fast as the series has done so: the
//     first-order autoregression of the last half hour (Box, Jenkins, Reinsel,
//     Ljung, Time Series Analysis, 5th ed., chapter 3). It counts samples and
//     leaves gaps out; all others count elapsed time, so that late, missing and
//     irregular samples need no special case;
//   - the seasonal naive one with drift (FPP3 5.2), in phase with a sawtooth
//     instead of with the clock: the height of the present cycle says where in
//     the last cycle it is. Later cycles stand higher by the growth of the peaks,
//     and the more uneven the cycles are, the more of their shape gives way to
//     their median. Noise has peaks too: a sawtooth goes much further than chance
//     would in as many steps of that size.
//
// Each costs O(1) a sample.
//
// Expert weights: at each horizon forecasts wait until they are due and are then
// compared with the first sample since. Every expert has a discounted loss in
// proportion to the naive one's, and the share of its claims that came true, in
// which a forecast counts as far as the expert then claimed anything: a plateau
// teaches nothing about leaks, and a leak that follows is believed as soon as a
// few claims of its size have come true. Trends are judged by their whole claim,
// returns to a level by the share of it that is believed. Whether there is a level
// takes several horizons to see; it is remembered for longer, and apart for a
// series that stands still and one that moves. A horizon without experience
// borrows from the next shorter one, the shortest from the naive forecast. Where
// memory all but vanishes, or appears out of nothing, one job has ended or another
// begun: claims are forgotten, errors are not. The median is y + w·claim: w is the
// share, and zero unless the expert beats naive; claim and share are those of the
// best expert and of the ones that are hardly worse.
//
// Intervals are quantiles of the errors that the published forecasts made at that
// horizon, with conformal ranks (Vovk, Gammerman, Shafer, Algorithmic Learning in
// a Random World, 2005). For a young series they are in part the errors that those
// forecasts would have made with the present weights. While there are few errors,
// the interval is that of the next shorter horizon, widened as intervals have
// widened up to there. It includes the claim of an expert that a shorter horizon
// follows, as far as this horizon has no experience with such claims.
//
// Changepoint: a change of regime shows first where a forecast of half a minute
// ago misses far beyond the usual error while the last seconds lie on a line that
// leads further away. Until forecasts made since have come due, intervals extend
// along that line, as far as a course goes that has lasted so long (Gott, Nature
// 363, 1993).
//
// FullIn is where the median path crosses the free memory for good; of a rising
// sawtooth, where its peaks do; and no further ahead than the series is known.
//
// A leak is found in two rows of levels: minima and means of windows of a minute
// for half an hour, and of ever longer slots for the whole life (leak.go has the
// conditions). Tests and rates: Mann (1945), Kendall (1975), Theil (1950), Sen
// (1968), and a local level's error (Harvey, Forecasting, Structural Time Series
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
// twenty seconds to be seen, under a sawtooth minutes, and until then intervals
// are too narrow. A burst of growth within a leak makes the time to full too
// short. Where several jobs share a GPU, one that ends is a step, and what was
// learnt of it stays.
package forecast

// Package forecast is where memory is going: a median with intervals at each
// horizon, when a GPU will be full, and what a series does (leak, sawtooth…).
// Pure numbers: bytes and times. It knows neither GPUs nor processes.
//
//	sample ─┬→ track records: forecasts that are due meet what came ──┐
//	        ├→ damped Holt, regressions over 60 s and 300 s → claims ─┼→ trust → Interval, FullIn
//	        ├→ peaks, and the past in bins → rhythm ─────────→ claim ─┘
//	        └→ minima of windows, turning points ─────────────────────────────→ Trend
//
// # Method
//
// GPU memory moves in steps: on long recordings the naive forecast, "it stays
// as it is", is nearly unbeatable, and what can be gained is gained in regimes:
// leaks, staircases, teeth, warm-up, noise. So the forecast of a change is a
// claim that has to be believed first.
//
// Experts make the claims. One is the damped Holt, ETS(A,Ad,N), in
// error-correction form (α .8, β* .1, φ .98 per second): Hyndman, Koehler, Ord,
// Snyder, Forecasting with Exponential Smoothing (2008); Hyndman &
// Athanasopoulos, Forecasting: Principles and Practice, 3rd ed., chapter 8. The
// others read discounted least squares (Brown, Smoothing, Forecasting and
// Prediction, 1963): the slope of the last minute and of the last five, both
// from the newest sample on; the long line itself; the means of the last minute
// and of the last five. Where a parabola shows that growth slows down, slopes fade as fast as
// they do now. All count elapsed time, not samples, so that late, missing and
// irregular ones need no special case, and cost O(1).
//
// The last expert is the seasonal naive one with drift (FPP3 5.2), in step with
// peaks instead of with the clock: the present tooth goes on as the last one
// did at this distance from its peak, those after it stand higher by what peaks
// rise, and the more unevenly long teeth are, the more of their shape gives way
// to their mean.
//
// At each horizon forecasts wait until they are due and are then compared with
// the first sample since. From that every expert has a discounted loss in
// proportion to the naive one's, and the share of its claims that came true,
// in which a forecast counts as far as the expert then claimed anything: a
// plateau teaches nothing about leaks, and a leak that follows is believed as
// soon as a few claims of its size have come true. Until a horizon has such
// experience it borrows from the next shorter one; the shortest borrows from
// naive. Where memory all but goes, or comes out of nothing, one job has ended
// or another begun: claims are forgotten, errors are not. The median is
// y + w·claim of the best expert, w being its share, and zero unless it beats
// naive.
//
// Intervals are quantiles of the errors that the published forecasts made at
// that horizon, with conformal ranks (Vovk, Gammerman, Shafer, Algorithmic
// Learning in a Random World, 2005); while they are few, those of the next
// shorter horizon, widened.
//
// FullIn is where the median path crosses the free memory for good; of teeth
// that rise, where their peaks do. A leak is told by the minima of windows of a
// minute: they rise (Mann 1945, Kendall 1975), by more than they tremble around
// the slope of Theil (1950) and Sen (1968), not in one step, and not more and
// more slowly, which Mann and Kendall's test tells of their steps too.
//
// # Known limits
//
// Figures are in docs/forecast.md. The first tooth of a series looks like a
// leak, and growth that takes longer to level off than it has been watched is
// called one. Ten minutes ahead uneven teeth are forecast no better than by
// naive. After a change of regime intervals are too narrow until the horizon has
// gone by a few times: of a leak that starts out of a plateau, of steps. A burst
// of growth within a leak makes the time to full too short. Where several jobs
// share a GPU, one that ends is a step, and what was learnt of it stays.
// Before it has seen a horizon, a borrowed interval of noise is too wide.
package forecast

import "time"

// Horizons are the distances at which a forecast is made.
var Horizons = [...]time.Duration{
	10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute,
	5 * time.Minute, 10 * time.Minute, 15 * time.Minute,
}

// Interval is a forecast at one horizon, in bytes.
// Lower95 ≤ Lower80 ≤ Median ≤ Upper80 ≤ Upper95.
type Interval struct {
	Horizon                                    time.Duration
	Median, Lower80, Upper80, Lower95, Upper95 int64
}

// Package forecast is where memory is going: a median with intervals at each
// horizon, when a GPU will be full, and what a series does (leak, sawtooth…).
// Pure numbers: bytes and times. It knows neither GPUs nor processes.
//
//	sample ─┬→ track records: forecasts that are due meet what came ──┐
//	        ├→ damped Holt, regressions over 60 s and 300 s → claims ─┼→ trust → Interval, FullIn
//	        ├→ mean and median of the past ────────────────→ claims ─┤
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
// Athanasopoulos, Forecasting: Principles and Practice, 3rd ed., chapter 8.
// Three read discounted least squares (Brown, Smoothing, Forecasting and
// Prediction, 1963): the slope of the last minute and of the last five, both
// from the newest sample on, and the long line itself; where a parabola shows
// that growth slows down, slopes fade as fast as they do now. Two return to a
// level: simple exponential smoothing over half an hour, and the median of ten
// minutes. All count elapsed time, not samples, so that late, missing and
// irregular ones need no special case, and cost O(1).
//
// The last expert is the seasonal naive one with drift (FPP3 5.2), in step with
// teeth instead of with the clock: where the present tooth stands in the last
// one is told by its height, so that one that goes faster ends sooner; those
// after it stand higher by what peaks rise, and the more unevenly long teeth
// are, the more of their shape gives way to their median. Noise has peaks too:
// teeth are told from it by going much further than chance would in as many
// steps of their size.
//
// At each horizon forecasts wait until they are due and are then compared with
// the first sample since. From that every expert has a discounted loss in
// proportion to the naive one's, and the share of its claims that came true,
// in which a forecast counts as far as the expert then claimed anything: a
// plateau teaches nothing about leaks, and a leak that follows is believed as
// soon as a few claims of its size have come true. Trends are judged by their
// whole claim, what returns to a level by the share of it that is believed, and
// more slowly, as it takes several horizons to see. Until a horizon has such
// experience it borrows from the next shorter one; the shortest borrows from
// naive. Where memory all but goes, or comes out of nothing, one job has ended
// or another begun: claims are forgotten, errors are not. The median is
// y + w·claim of the best expert, w being its share, and zero unless it beats
// naive.
//
// Intervals are quantiles of the errors that the published forecasts made at
// that horizon, with conformal ranks (Vovk, Gammerman, Shafer, Algorithmic
// Learning in a Random World, 2005); while they are few, those of the next
// shorter horizon, widened as intervals have been seen to widen up to there.
// They reach to what the expert says whom a shorter horizon follows, as far as
// this one has no experience of its own with such claims: right after a change
// nobody knows how long it lasts.
//
// FullIn is where the median path crosses the free memory for good; of teeth
// that rise, where their peaks do; and no further ahead than one and a half
// times as long as the series is known. A leak is told by the minima of windows
// of a minute: they rise (Mann 1945, Kendall 1975), by more than they tremble
// around the slope of Theil (1950) and Sen (1968), not in one step, above where
// they were ever given back, and not more and more slowly, which the parabola
// tells, and Mann and Kendall's test of their steps.
//
// # Known limits
//
// Figures are in docs/forecast.md. The first tooth of a series looks like a
// leak, and growth that takes longer to level off than it has been watched is
// called one. Ten minutes ahead uneven teeth are forecast no better than by
// naive. After a change of regime no forecast made before it is right, and for
// a minute or two intervals are too narrow: of a leak that starts out of a
// plateau, of steps. A burst of growth within a leak makes the time to full too
// short. Where several jobs share a GPU, one that ends is a step, and what was
// learnt of it stays.
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

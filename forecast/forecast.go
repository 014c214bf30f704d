// Package forecast is where memory is going: a median with intervals at each
// horizon, when a GPU will be full, and what a series does (leak, sawtooth…).
// Pure numbers: bytes and times. It knows neither GPUs nor processes.
//
//	sample ─┬→ track records: forecasts that are due meet what came ──┐
//	        ├→ damped Holt, regressions over 60 s and 300 s → claims ─┼→ trust → Interval, FullIn
//	        ├→ mean, median, autoregression of the past ────→ claims ─┤            ↑
//	        ├→ peaks, and the past in bins → rhythm ─────────→ claim ─┘            │
//	        ├→ a line of the last seconds, away from what was forecast → onset ────┘
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
// that growth slows down, slopes fade as fast as they do now. Two rest on a
// level: simple exponential smoothing over half an hour, and the median of ten
// minutes. One approaches a level as fast as it has been seen to: the
// first-order autoregression of the last half hour (Box, Jenkins, Reinsel,
// Ljung, Time Series Analysis, 5th ed., chapter 3), which is at home in noise
// that forgets slowly and in warm-ups; it goes from sample to sample, and leaves
// gaps out. All others count elapsed time, so that late, missing and irregular
// samples need no special case. Each costs O(1).
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
// whole claim, what returns to a level by the share of it that is believed.
// Whether there is a level to rest on takes several horizons to see and is
// remembered for longer, and apart for a series that stands still at the moment
// and one that moves: real memory does both in turn, and comes back only from
// where it does not stay. Until a horizon has such experience it borrows from
// the next shorter one; the shortest borrows from naive. Where memory all but
// goes, or comes out of nothing, one job has ended or another begun: claims are
// forgotten, errors are not. The median is y + w·claim, w being the share, and
// zero unless the expert beats naive; of the best one, and of those that are
// hardly worse.
//
// Intervals are quantiles of the errors that the published forecasts made at
// that horizon, with conformal ranks (Vovk, Gammerman, Shafer, Algorithmic
// Learning in a Random World, 2005); of a young series, in part of the errors
// that they would have made if experts had been known as well as now; while
// they are few, those of the next shorter horizon, widened as intervals have
// been seen to widen up to there. They reach to what the expert says whom a
// shorter horizon follows, as far as this one has no experience of its own with
// such claims.
//
// After a change of regime errors say nothing: the change is seen first where a
// forecast of half a minute ago misses far beyond the usual, while the last
// seconds lie on a line that leads further away. Until errors have been made
// since, intervals reach along that line, as far as a course goes that has
// lasted so long already (Gott, Nature 363, 1993).
//
// FullIn is where the median path crosses the free memory for good; of teeth
// that rise, where their peaks do; and no further ahead than the series is
// known.
//
// A leak is told from two rows: minima and means of windows of a minute for
// half an hour, and of ever longer slots for the whole life. A stretch up to now
// leaks if it rises (Mann 1945, Kendall 1975) by more than 1 %, with no step
// above 30 % of it, further than such steps would wander by chance, and above
// where the series was before and came back from; and if the most by which its
// steps can have become smaller is less than growth that fades within half an
// hour, or within twice the time watched, would have lost. The error of that is
// a local level's (Harvey, Forecasting, Structural Time Series Models and the
// Kalman Filter, 1989, chapter 2), right for noise as for bursts. Under teeth
// the minima of whole teeth must not have lost all speed. A series is watched
// for seven minutes first. The rate is that of Theil (1950) and Sen (1968).
//
// # Known limits
//
// Figures are in docs/forecast.md. The first tooth or swing of a series that
// lasts longer than seven minutes looks like a leak, and so does a warm-up in
// large random steps, for some minutes; growth that fades more slowly than in
// half an hour and twice the time watched is called one. A leak whose rate wanders
// is at times only growing, and large steps on top of one can hide it. Ten
// minutes ahead uneven teeth are forecast no better than by naive. After a
// change of regime no forecast made before it is right; it takes some twenty
// seconds to be seen, under teeth minutes, and until then intervals are too
// narrow. A burst of growth within a leak makes the time to full too short.
// Where several jobs share a GPU, one that ends is a step, and what was learnt
// of it stays.
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

// Package forecast predicts memory: a median with intervals at each horizon, when
// a GPU will be full, and what a series does (leak, sawtooth…). It works on pure
// numbers, bytes and times, and knows neither GPUs nor processes.
//
//	sample ─┬→ records: due forecasts meet what happened ─→ credits, errors ─┐
//	        ├→ regressions over 8 s, 60 s and 300 s ─────────→ claims ───────┼→ Interval, FullIn
//	        ├→ autoregression of the past ───────────────────→ claim ────────┤
//	        ├→ peaks, and the past in bins → seasonal phase ─→ claim, crests ┤
//	        ├→ quick line out of a plateau → course ─────────────────────────┤
//	        ├→ arrivals at levels of the median path ────────────────────────┘
//	        └→ lows of slots of time ────────────────────────────────────────→ Trend
//
// Start reading at Forecaster.Observe (forecaster.go), then outlook.go. Every constant
// is in const.go, with its reason.
//
// # Method
//
// GPU memory moves in steps. On long recordings the naive forecast, "it stays as
// it is", is nearly unbeatable; what can be gained is gained in regimes: leaks,
// staircases, sawtooths, warm-up, noise. So experts claim changes at each horizon, and
// the best one is followed as far as its earlier claims came true.
//
// The experts (experts.go) cost O(1) a sample:
//
//   - four on discounted least squares (Brown, Smoothing, Forecasting and Prediction,
//     1963): the drift of the last seconds, that of the last minute, and the lines of
//     the last minute and of the last five;
//   - a first-order autoregression of the last twenty minutes (Box, Jenkins, Reinsel,
//     Ljung, Time Series Analysis, 5th ed., chapter 3). It counts samples; all others
//     count elapsed time, so that late, missing and irregular samples need no special
//     case;
//   - the seasonal naive one with drift (Hyndman, Athanasopoulos, Forecasting: Principles
//     and Practice, 3rd ed., 5.2), in phase with the peaks instead of with the clock
//     (seasons.go). The steps of a staircase are peaks too: a rise ends where it falls, or
//     does not go on for twice as long as it took.
//
// The choice (experts.go): forecasts wait until they are due and are then compared with
// the first sample since. Every expert has, at each horizon, the discounted part of
// the naive forecast's loss that it saved, and the share of its claims that came true.
// Forecasts count by the size of the claim: a plateau teaches nothing about leaks, and
// a leak that follows is believed after a few claims of its size. Each horizon's verdict
// is the prior of the next longer one's, the naive forecast is the shortest's. The
// median is y + share·claim of the expert that saves most, or y where none saves
// anything. In a job's first minute it is y, too, but for a straight line that is no load:
// one that has not yet grown by a quarter.
//
// Intervals (record.go) are quantiles of the last errors of the published forecasts at
// that horizon, with conformal ranks (Vovk, Gammerman, Shafer, Algorithmic Learning in a
// Random World, 2005), made wider or narrower until they hold their share (Gibbs,
// Candès, Adaptive Conformal Inference under Distribution Shift, 2021). The errors are of
// the whole past, up to an hour. While there are few of them, the interval is that of the
// next shorter horizon, widened as a random walk's, but for a return to a level.
//
// When a GPU is full (full.go) is where the median path reaches the free memory. Two
// things lead there before the experts do (outlook.go): the next peak, where each of the
// last was above the one before; and a course, a quick line that begins out of a calm
// series and leads above all that was there before: for twice its age, and bent by the
// slope of the last seconds where it slows. The interval of that time does not
// come from memory's: it is conformal in time (arrivals.go). Levels that the median path
// has one, two and five minutes ahead are kept until the series gets there, and the
// quantiles of how much later than expected that is are those of the time to full.
//
// A leak (leak.go) is even growth of the lowest samples in slots of time, at any of
// eight scales from a minute to two hours, so that neither sawtooth nor staircase hides it.
//
// A job that ends or begins (memory falls to, or rises from, nearly nothing) takes what
// was learnt with it, but not the size of errors.
//
// # Known limits
//
// docs/forecast.md has the figures. A leak that began with the series is called one
// after eight minutes if it is even, else after an hour, because a first epoch looks
// the same until it ends; one that begins out of a plateau after eight; one that
// takes more than three hours to double the memory after half a day, because a day's
// load looks the same. The mark ends up to a quarter of an hour after the leak.
// Growth that fades is extended as a line where noise hides that. Ten minutes ahead an
// uneven sawtooth is forecast no better than by naive. A forecast made before a
// change is wrong, and its interval with it; for half a minute after, intervals are
// too narrow. Where several jobs share a GPU, one that ends is a step, and what was
// learnt of it stays.
package forecast

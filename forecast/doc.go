// Package forecast predicts memory: a median with intervals at each horizon, when a GPU will be
// full, and the trend of a series (leak, sawtooth…). It works only on numbers, bytes and times,
// without GPUs or processes.
//
//	sample ─┬→ records: due forecasts meet what happened ─→ credits, errors ─┐
//	        ├→ regressions over 8 s, 60 s and 300 s ─────────→ claims ───────┼→ Interval, FullIn
//	        ├→ autoregression of the past ───────────────────→ claim ────────┤
//	        ├→ peaks, and the past in bins → seasonal phase ─→ claim, crests ┤
//	        ├→ quick line out of a plateau → course ─────────────────────────┤
//	        ├→ arrivals at levels of the median path ────────────────────────┘
//	        └→ lows of slots of time ────────────────────────────────────────→ Trend
//
// Start reading at Forecaster.Observe (forecaster.go), then outlook.go. const.go has the
// constants, with their reasons. docs/forecast.md explains the method, and has its figures and
// limits. Its sources:
//
//   - the lines are discounted least squares (Brown, Smoothing, Forecasting and Prediction,
//     1963), over elapsed time, so that late, missing and irregular samples need no special
//     case;
//   - the autoregression is of the first order, and counts samples (Box, Jenkins, Reinsel,
//     Ljung, Time Series Analysis, 5th ed., chapter 3);
//   - the seasonal claim is the seasonal naive one with drift (Hyndman, Athanasopoulos,
//     Forecasting: Principles and Practice, 3rd ed., 5.2), in phase with the peaks instead of
//     with the clock;
//   - intervals have conformal ranks (Vovk, Gammerman, Shafer, Algorithmic Learning in a Random
//     World, 2005), made wider or narrower until they hold their share (Gibbs, Candès, Adaptive
//     Conformal Inference under Distribution Shift, 2021).
package forecast

// Package baseline has the methods that the forecaster is compared with: exponential
// smoothing, and a simple mixture of experts. Each follows one series, sample by sample,
// and gives a median without an interval.
//
//	All → New → Observe … → Forecasts
//
// Where a method has parameters, a grid of them is tried: at every sample the set with
// the smallest sum of squared one-step errors so far is used. (A statistics package
// optimises instead.) A step is the usual time between samples. Formulas:
// Hyndman & Athanasopoulos, Forecasting: Principles and Practice, 3rd ed., chapter 8.
// Start reading at All (baseline.go).
package baseline

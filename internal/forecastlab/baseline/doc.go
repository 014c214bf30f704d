// Package baseline has the methods that the forecaster is compared with: the
// textbook's, the one that other tools use, and a simple mixture of experts. Each follows one series, sample by
// sample, and gives a median without an interval.
//
//	All → New → Observe … → Forecasts, FullIn
//
// Where a method has parameters, a grid of them is tried: at every sample the ones
// count whose one-step forecasts had the least squared errors so far. (A statistics
// package optimises instead.) Steps are the usual time between samples. Formulas:
// Hyndman & Athanasopoulos, Forecasting: Principles and Practice, 3rd ed., chapters
// 5 and 8. Start reading at All (baseline.go).
package baseline

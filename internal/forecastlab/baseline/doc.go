// Package baseline has the simple methods that the forecaster is compared with. Each
// follows one series of evenly spaced samples and forecasts so many samples ahead.
//
//	All → Observe … → Ahead
//
// Where a method has parameters, a grid of them is tried: at every sample the set with
// the smallest sum of squared one-step errors so far is used. (A statistics package
// optimises instead.) Formulas: Hyndman & Athanasopoulos, Forecasting: Principles and
// Practice (FPP3), 3rd ed., chapter 8. Start reading at All (baseline.go).
package baseline

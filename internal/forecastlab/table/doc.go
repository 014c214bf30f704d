// Command table measures the forecaster and the baselines on every regime and writes
// the tables of docs/forecast.md.
//
//	regime.All × seeds → backtest.Replay of each method → tables → between the marks in the document
//
// The figures of a real recording are written where one is named; otherwise those in
// the document stay. The LSTM's tables are written by scripts/lstm/run, through -lstm.
// Start reading at run (main.go).
package main

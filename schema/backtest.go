package schema

import "vramscope/forecast/backtest"

// Backtest is what `vramscope backtest --format json` writes (docs/forecast.md).
type Backtest struct {
	Schema  string             `json:"schema"`
	File    string             `json:"file"`
	Bare    bool               `json:"bare"` // the forecaster alone, without the monitor's rules
	Skipped []SkippedRow       `json:"skipped_rows"`
	Pooled  backtest.Summary   `json:"pooled"`
	Series  []backtest.Summary `json:"series"`
}

// SkippedRow is a line of the recording that could not be read.
type SkippedRow struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

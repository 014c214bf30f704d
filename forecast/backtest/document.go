package backtest

import "vramscope/internal/text"

// Document is what `vramscope backtest --format json` writes (docs/forecast.md).
type Document struct {
	Schema  string       `json:"schema"` // "vramscope/backtest/1"
	File    string       `json:"file"`
	Bare    bool         `json:"bare"` // the forecaster alone, without the monitor's rules
	Skipped []SkippedRow `json:"skipped_rows"`
	Pooled  Summary      `json:"pooled"`
	Series  []Summary    `json:"series"`
}

// SkippedRow is a line of the recording that could not be read.
type SkippedRow struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// DocumentOf is the scores of a trace as a document.
func DocumentOf(file string, bare bool, trace *Trace, scores []*Score) Document {
	out := Document{Schema: "vramscope/backtest/1", File: file, Bare: bare, Pooled: Summarise(scores...), Skipped: []SkippedRow{}}
	out.Pooled.ID = ""
	for _, row := range trace.Bad {
		out.Skipped = append(out.Skipped, SkippedRow{Line: row.Line, Reason: text.Clean(row.Reason)})
	}
	for _, score := range scores {
		out.Series = append(out.Series, Summarise(score))
	}
	return out
}

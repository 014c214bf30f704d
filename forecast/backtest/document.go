package backtest

// Document is what `vramscope backtest --format json` writes (docs/forecast.md).
type Document struct {
	Schema  string    `json:"schema"` // "vramscope/backtest/1"
	File    string    `json:"file"`
	Bare    bool      `json:"bare"` // only the forecaster, without the monitor's rules
	Skipped []BadRow  `json:"skipped_rows"`
	Pooled  Summary   `json:"pooled"`
	Series  []Summary `json:"series"`
}

// DocumentOf makes the document of a trace's scores.
func DocumentOf(file string, bare bool, trace *Trace, scores []*Score) Document {
	out := Document{Schema: "vramscope/backtest/1", File: file, Bare: bare, Pooled: Summarise(scores...), Skipped: append([]BadRow{}, trace.Bad...)}
	out.Pooled.ID = ""
	for _, score := range scores {
		out.Series = append(out.Series, Summarise(score))
	}
	return out
}

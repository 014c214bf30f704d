package render

import (
	"fmt"
	"strconv"
	"time"

	"vramscope/forecast/backtest"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
)

// backtestReport is a replayed trace with its scores.
type backtestReport struct {
	*backtest.Document
	signs Signs
}

// Backtest returns the scores of a trace over all series. Only JSON has the scores of each series.
func Backtest(doc *backtest.Document, signs Signs, width int) string {
	r := backtestReport{doc, signs}
	sum := &r.Pooled
	lines := []string{
		fmt.Sprintf("%s  %d series, %d samples, %s in all series; %d rows skipped",
			text.Clean(r.File), sum.Series, sum.Samples, brief(time.Duration(sum.Seconds*1e9)), len(r.Skipped)), "",
		r.alerts(sum), "",
	}
	lines = append(lines, r.horizons(sum).lines()...)
	lines = append(lines, "")
	for _, full := range sum.TimeToFull {
		lines = append(lines, r.full(&full))
	}
	lines = append(lines,
		fmt.Sprintf("leaks         %d flags in %d of %d series, at %s of samples", sum.Leak.Flags, sum.Leak.Series, sum.Series, r.percent(sum.Leak.Share)),
		fmt.Sprintf("cost          %s ns per sample", r.figure("%.0f", sum.NanosecondsPerSample)))
	return cutLines(lines, width, r.signs.Ellipsis)
}

// figure formats a figure; unknown is a dash.
func (r *backtestReport) figure(format string, f backtest.Figure) string {
	if !f.Known() {
		return r.signs.Dash
	}
	return fmt.Sprintf(format, float64(f))
}

func (r *backtestReport) percent(f backtest.Figure) string { return r.figure("%.1f%%", 100*f) }

func (r *backtestReport) bytes(f backtest.Figure) string {
	if !f.Known() {
		return r.signs.Dash
	}
	return quantity.Bytes(f).String()
}

func (r *backtestReport) horizons(sum *backtest.Summary) *grid {
	g := &grid{columns: []column{
		{title: "HORIZON"}, {title: "FORECASTS", right: true}, {title: "REL_MAE", right: true}, {title: "MAE", right: true},
		{title: "NAIVE", right: true}, {title: "IN_80%", right: true}, {title: "WIDTH", right: true}, {title: "WINKLER", right: true},
		{title: "IN_95%", right: true}, {title: "WIDTH", right: true}, {title: "WINKLER", right: true},
	}}
	for i := range sum.Horizons {
		h := &sum.Horizons[i]
		g.rows = append(g.rows, []string{
			brief(time.Duration(h.Seconds * 1e9)), strconv.Itoa(h.Forecasts), r.figure("%.3f", h.Relative), r.bytes(h.MAE), r.bytes(h.NaiveMAE),
			r.percent(h.In80.Coverage), r.bytes(h.In80.MeanWidth), r.bytes(h.In80.Winkler),
			r.percent(h.In95.Coverage), r.bytes(h.In95.MeanWidth), r.bytes(h.In95.Winkler),
		})
	}
	return g
}

func (r *backtestReport) alerts(sum *backtest.Summary) string {
	a := &sum.Alarms
	if !a.Raised.Known() {
		return "alerts        " + r.signs.Dash + " (no series has a total)"
	}
	return fmt.Sprintf("alerts        %s raised, %s wrong, %s undecided; %s fills; precision %s, recall %s, lead %s; %s wrong a day",
		r.figure("%.0f", a.Raised), r.figure("%.0f", a.Wrong), r.figure("%.0f", a.Undecided), r.figure("%.0f", a.Fills),
		r.figure("%.2f", a.Precision), r.figure("%.2f", a.Recall), r.figure("%.0f s", a.Lead), r.figure("%.1f", a.WrongPerDay))
}

func (r *backtestReport) full(f *backtest.FullSummary) string {
	return fmt.Sprintf("time to full  %.0f%s%.0f s ahead: median error %s, interval holds %s; said at %d of %d samples",
		f.From, r.signs.EnDash, f.To, r.percent(f.Error), r.percent(f.Coverage), f.Answered, f.Asked)
}

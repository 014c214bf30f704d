package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"vramscope/forecast/backtest"
	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/schema"
)

// backtestReport is the result of a backtest.
type backtestReport struct {
	name   string
	trace  *backtest.Trace
	scores []*backtest.Score
}

// pooled are the figures of all series together.
func (r *backtestReport) pooled() backtest.Summary {
	sum := backtest.Summarise(r.scores...)
	sum.ID = ""
	return sum
}

func (r *backtestReport) writeJSON(w io.Writer) error {
	out := schema.Backtest{Schema: schema.BacktestVersion, File: r.name, Pooled: r.pooled(), Skipped: []schema.SkippedRow{}}
	for _, row := range r.trace.Bad {
		out.Skipped = append(out.Skipped, schema.SkippedRow{Line: row.Line, Reason: text.Clean(row.Reason)})
	}
	for _, score := range r.scores {
		out.Series = append(out.Series, backtest.Summarise(score))
	}
	s, err := schema.Encode(out)
	if err != nil {
		return err
	}
	_, err = w.Write(s)
	return err
}

// writeTable writes the figures of all series, then a line for each.
func (r *backtestReport) writeTable(w io.Writer, width int, signs glyphs) error {
	t := backtestTable{signs}
	sum := r.pooled()
	lines := []string{
		fmt.Sprintf("%s  %d series, %d samples, %s of recording; %d rows skipped",
			text.Clean(r.name), sum.Series, sum.Samples, shortDuration(time.Duration(sum.Seconds*1e9)), len(r.trace.Bad)), "",
	}
	lines = append(lines, t.horizons(&sum).lines(0, "")...)
	lines = append(lines, "", t.alarms(&sum))
	for _, full := range sum.TimeToFull {
		lines = append(lines, t.full(&full))
	}
	lines = append(lines,
		fmt.Sprintf("leaks         %d flags in %d of %d series, at %s of samples", sum.Leak.Flags, sum.Leak.Series, sum.Series, t.percent(sum.Leak.Share)),
		fmt.Sprintf("cost          %s ns per sample", t.number(sum.NanosecondsPerSample, 0)), "")
	lines = append(lines, t.series(r.scores).lines(0, "")...)
	for i := range lines {
		lines[i] = cutLine(lines[i], width, signs.ellipsis) + "\n"
	}
	_, err := io.WriteString(w, strings.Join(lines, ""))
	return err
}

// backtestTable writes figures; unknown is the dash.
type backtestTable struct{ signs glyphs }

func (t *backtestTable) number(f backtest.Figure, decimals int) string {
	if !f.Known() {
		return t.signs.dash
	}
	return strconv.FormatFloat(float64(f), 'f', decimals, 64)
}

func (t *backtestTable) percent(f backtest.Figure) string {
	if !f.Known() {
		return t.signs.dash
	}
	return strconv.FormatFloat(100*float64(f), 'f', 1, 64) + "%"
}

func (t *backtestTable) seconds(f backtest.Figure) string {
	if !f.Known() {
		return t.signs.dash
	}
	return t.number(f, 0) + " s"
}

func (t *backtestTable) bytes(f backtest.Figure) string {
	if !f.Known() {
		return t.signs.dash
	}
	return quantity.Bytes(f).String()
}

// horizons is a line for each horizon.
func (t *backtestTable) horizons(sum *backtest.Summary) *grid {
	g := &grid{columns: []column{
		{title: "HORIZON"}, {title: "FORECASTS", right: true}, {title: "REL_MAE", right: true}, {title: "MAE", right: true},
		{title: "NAIVE", right: true}, {title: "IN_80%", right: true}, {title: "WIDTH", right: true}, {title: "WINKLER", right: true},
		{title: "IN_95%", right: true}, {title: "WIDTH", right: true}, {title: "WINKLER", right: true},
	}}
	for i := range sum.Horizons {
		h := &sum.Horizons[i]
		g.rows = append(g.rows, []string{
			horizonName(h.Seconds), strconv.Itoa(h.Forecasts), t.number(h.Relative, 3), t.bytes(h.MAE), t.bytes(h.NaiveMAE),
			t.percent(h.In80.Coverage), t.bytes(h.In80.MeanWidth), t.bytes(h.In80.Winkler),
			t.percent(h.In95.Coverage), t.bytes(h.In95.MeanWidth), t.bytes(h.In95.Winkler),
		})
	}
	return g
}

func horizonName(seconds float64) string { return shortDuration(time.Duration(seconds * 1e9)) }

func (t *backtestTable) alarms(sum *backtest.Summary) string {
	a := &sum.Alarms
	if !a.Raised.Known() {
		return "alarms        " + t.signs.dash + " (no series has a total)"
	}
	return fmt.Sprintf("alarms        %s raised, %s wrong, %s undecided; %s fills; precision %s, recall %s, lead %s",
		t.number(a.Raised, 0), t.number(a.Wrong, 0), t.number(a.Undecided, 0), t.number(a.Fills, 0),
		t.number(a.Precision, 2), t.number(a.Recall, 2), t.seconds(a.Lead))
}

func (t *backtestTable) full(f *backtest.FullSummary) string {
	return fmt.Sprintf("time to full  %.0f%s%.0f s ahead: median error %s, interval holds %s; said at %d of %d samples",
		f.From, t.signs.enDash, f.To, t.percent(f.Error), t.percent(f.Coverage), f.Answered, f.Asked)
}

// series is a line for each series: the relative error at each horizon, and
// what was raised.
func (t *backtestTable) series(scores []*backtest.Score) *grid {
	g := &grid{columns: []column{{title: "SAMPLES", right: true}}}
	for i, score := range scores {
		sum := backtest.Summarise(score)
		row := []string{strconv.Itoa(sum.Samples)}
		for k := range sum.Horizons {
			if i == 0 {
				g.columns = append(g.columns, column{title: "REL_" + horizonName(sum.Horizons[k].Seconds), right: true})
			}
			row = append(row, t.number(sum.Horizons[k].Relative, 3))
		}
		g.rows = append(g.rows, append(row, t.number(sum.Alarms.Raised, 0), strconv.Itoa(sum.Leak.Flags), text.Clean(sum.ID)))
	}
	g.columns = append(g.columns, column{title: "ALARMS", right: true}, column{title: "LEAKS", right: true}, column{title: "SERIES"})
	return g
}

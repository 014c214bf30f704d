package backtest

import (
	"encoding/json"
	"math"
	"slices"

	"vramscope/forecast"
)

// Figure is a number that may be unknown: NaN, and null in JSON.
type Figure float64

// Known reports whether there is a number.
func (f Figure) Known() bool { return !math.IsNaN(float64(f)) }

// MarshalJSON writes an unknown figure as null.
func (f Figure) MarshalJSON() ([]byte, error) {
	if !f.Known() || math.IsInf(float64(f), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// ratio divides a sum by a count; unknown if the count is 0.
func ratio(sum float64, n int) Figure {
	if n == 0 {
		return Figure(math.NaN())
	}
	return Figure(sum / float64(n))
}

// Summary holds the figures of one series or of several, as in the JSON output.
type Summary struct {
	ID                   string           `json:"series_id,omitempty"`
	Series               int              `json:"series"`
	Samples              int              `json:"samples"`
	Seconds              float64          `json:"seconds"`
	Horizons             []HorizonSummary `json:"horizons"`
	Alarms               AlarmSummary     `json:"alarms"`
	TimeToFull           []FullSummary    `json:"time_to_full"`
	Leak                 LeakSummary      `json:"leak"`
	NanosecondsPerSample Figure           `json:"nanoseconds_per_sample"`
}

// HorizonSummary scores the forecasts at one horizon.
type HorizonSummary struct {
	Seconds   float64         `json:"horizon_seconds"`
	Forecasts int             `json:"forecasts"`
	Series    int             `json:"series"` // series with a scored forecast
	Relative  Figure          `json:"relative_mae"`
	MAE       Figure          `json:"mae_bytes"`
	NaiveMAE  Figure          `json:"naive_mae_bytes"`
	In80      IntervalSummary `json:"interval80"`
	In95      IntervalSummary `json:"interval95"`
}

// IntervalSummary scores intervals.
type IntervalSummary struct {
	Coverage  Figure `json:"coverage"`
	MeanWidth Figure `json:"mean_width_bytes"`
	Winkler   Figure `json:"winkler_score_bytes"`
}

// AlarmSummary scores the alarms. All its figures are unknown if no series has a known total.
type AlarmSummary struct {
	Fills        Figure `json:"fills"`
	Raised       Figure `json:"raised"`
	Right        Figure `json:"right"`
	Wrong        Figure `json:"wrong"`
	Undecided    Figure `json:"undecided"`
	Precision    Figure `json:"precision"`
	Recall       Figure `json:"recall"`
	Lead         Figure `json:"median_lead_seconds"`
	WrongPerHour Figure `json:"wrong_per_hour"`
	WrongPerDay  Figure `json:"wrong_per_day"`
}

// FullSummary scores the times to full, by how much time was left.
type FullSummary struct {
	From     float64 `json:"from_seconds"`
	To       float64 `json:"to_seconds"`
	Asked    int     `json:"asked"`
	Answered int     `json:"answered"`
	Error    Figure  `json:"median_relative_error"`
	Coverage Figure  `json:"interval80_coverage"`
}

// LeakSummary scores the reported leaks.
type LeakSummary struct {
	Series int    `json:"series"` // series that were ever called a leak
	Flags  int    `json:"flags"`
	Share  Figure `json:"share_of_samples"`
	First  Figure `json:"first_t_seconds"` // only for one series
}

// Summarise makes the figures of one series or of several.
func Summarise(scores ...*Score) Summary {
	sum := Summary{Series: len(scores)}
	var cost float64
	var leaking int
	sum.Leak.First = Figure(math.NaN())
	for _, s := range scores {
		sum.Samples += s.Samples
		sum.Seconds += s.Seconds
		cost += float64(s.Cost.Nanoseconds())
		leaking += s.Leak.Samples
		sum.Leak.Flags += s.Leak.Flags
		if s.Leak.Flags > 0 {
			sum.Leak.Series++
		}
	}
	if len(scores) == 1 {
		sum.ID = scores[0].ID
		if scores[0].Leak.Flags > 0 {
			sum.Leak.First = Figure(scores[0].Leak.First)
		}
	}
	sum.Leak.Share = ratio(float64(leaking), sum.Samples)
	sum.NanosecondsPerSample = Figure(math.NaN())
	if cost > 0 {
		sum.NanosecondsPerSample = ratio(cost, sum.Samples)
	}
	for k := range forecast.Horizons {
		sum.Horizons = append(sum.Horizons, horizon(k, scores))
	}
	sum.Alarms, sum.TimeToFull = filled(scores)
	return sum
}

func horizon(k int, scores []*Score) HorizonSummary {
	h := HorizonSummary{Seconds: forecast.Horizons[k].Seconds()}
	var logs float64
	var all Accuracy
	for _, s := range scores {
		a := &s.At[k]
		if a.Scored == 0 {
			continue
		}
		h.Series++
		logs += math.Log(a.relative())
		all.Scored += a.Scored
		all.Loss += a.Loss
		all.Naive += a.Naive
		all.In80.join(&a.In80)
		all.In95.join(&a.In95)
	}
	h.Forecasts = all.Scored
	h.Relative = Figure(math.Exp(float64(ratio(logs, h.Series))))
	h.MAE, h.NaiveMAE = ratio(all.Loss, all.Scored), ratio(all.Naive, all.Scored)
	h.In80, h.In95 = all.In80.summary(all.Scored), all.In95.summary(all.Scored)
	return h
}

func (b *Bounds) join(other *Bounds) {
	b.Within += other.Within
	b.Width += other.Width
	b.Winkler += other.Winkler
}

func (b *Bounds) summary(n int) IntervalSummary {
	return IntervalSummary{
		Coverage: ratio(float64(b.Within), n), MeanWidth: ratio(b.Width, n), Winkler: ratio(b.Winkler, n),
	}
}

func filled(scores []*Score) (AlarmSummary, []FullSummary) {
	var all Filling
	var seconds float64
	var leads []float64
	var errors [len(bands)][]float64
	for _, s := range scores {
		f := &s.Filling
		if !f.Known {
			continue
		}
		all.Known = true
		seconds += s.Seconds
		all.Fills += f.Fills
		all.Alarms += f.Alarms
		all.Right += f.Right
		all.Open += f.Open
		leads = append(leads, f.Leads...)
		for k := range bands {
			b, from := &all.Bands[k], &f.Bands[k]
			b.Asked += from.Asked
			b.Answered += from.Answered
			b.Covered += from.Covered
			errors[k] = append(errors[k], from.Errors...)
		}
	}
	falseAlarms := all.Alarms - all.Right - all.Open
	alarms := AlarmSummary{
		Fills: Figure(all.Fills), Raised: Figure(all.Alarms), Right: Figure(all.Right), Wrong: Figure(falseAlarms), Undecided: Figure(all.Open),
		Precision: ratio(float64(all.Right), all.Right+falseAlarms), Recall: ratio(float64(len(leads)), all.Fills),
		Lead: Figure(median(slices.Clone(leads))), WrongPerHour: Figure(math.NaN()), WrongPerDay: Figure(math.NaN()),
	}
	if seconds > 0 {
		alarms.WrongPerHour = Figure(float64(falseAlarms) / seconds * 3600)
		alarms.WrongPerDay = 24 * alarms.WrongPerHour
	}
	if !all.Known {
		nan := Figure(math.NaN())
		alarms = AlarmSummary{nan, nan, nan, nan, nan, nan, nan, nan, nan, nan}
	}
	full := make([]FullSummary, len(bands))
	for k, b := range all.Bands {
		full[k] = FullSummary{
			From: bands[k][0], To: bands[k][1], Asked: b.Asked, Answered: b.Answered,
			Error: Figure(median(errors[k])), Coverage: ratio(float64(b.Covered), b.Answered),
		}
	}
	return alarms, full
}

package backtest

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"vramscope/forecast"
)

const gib = 1 << 30

// stub returns the test's answer after the n-th sample.
type stub struct {
	n        int
	last     int64
	forecast func(n int, last int64, h time.Duration) forecast.Interval
	full     func(n int) (time.Duration, bool)
	trend    func(n int) forecast.Trend
}

func (s *stub) Observe(_ time.Time, used int64) { s.n, s.last = s.n+1, used }

func (s *stub) Forecasts(dst []forecast.Interval) []forecast.Interval {
	if s.forecast == nil {
		return dst
	}
	for _, h := range forecast.Horizons {
		in := s.forecast(s.n-1, s.last, h)
		in.Horizon = h
		dst = append(dst, in)
	}
	return dst
}

func (s *stub) FullIn(int64) (forecast.FullIn, bool) {
	if s.full == nil {
		return forecast.FullIn{}, false
	}
	d, ok := s.full(s.n - 1)
	return forecast.FullIn{Median: d, Earliest: d - 20*time.Second, Latest: d + 20*time.Second}, ok
}

func (s *stub) Trend() forecast.Trend {
	if s.trend == nil {
		return forecast.Steady
	}
	return s.trend(s.n - 1)
}

// line returns a series of n samples.
func line(n int, step float64, total int64, level func(i int) float64) *Series {
	used := make([]float64, n)
	for i := range used {
		used[i] = level(i)
	}
	return evenly("a", step, total, used)
}

// evenly makes a series of used bytes that are step seconds apart.
func evenly(id string, step float64, total int64, used []float64) *Series {
	s := &Series{ID: id, Samples: make([]Sample, len(used))}
	for i, v := range used {
		s.Samples[i] = Sample{Seconds: float64(i) * step, Used: int64(v), Total: total}
	}
	return s
}

func replayed(t *testing.T, m Method, s *Series) *Score {
	t.Helper()
	return Replay(m, s, nil)
}

func about(got Figure, want float64) bool { return math.Abs(float64(got)-want) < 1e-9 }

// A ramp of 10 MiB/s, forecast 4 MiB too low at 10 s, in intervals of ±2 and
// ±3.5 MiB: the errors are known.
func TestErrorsIntervalsAndWinkler(t *testing.T) {
	const mib = 1 << 20
	m := &stub{forecast: func(_ int, last int64, h time.Duration) forecast.Interval {
		median := last + int64(h.Seconds())*10*mib - 4*mib
		return forecast.Interval{Median: median, Lower80: median - 2*mib, Upper80: median + 2*mib,
			Lower95: median - 7*mib/2, Upper95: median + 7*mib/2}
	}}
	sum := Summarise(replayed(t, m, line(100, 1, 0, func(i int) float64 { return float64(i) * 10 * mib })))
	ten := sum.Horizons[0]
	if ten.Forecasts != 90 || !about(ten.MAE, 4*mib) || !about(ten.NaiveMAE, 100*mib) || !about(ten.Relative, 5.0/101) {
		t.Errorf("%+v", ten)
	}
	// 2 MiB outside the 80 % interval; 0.5 MiB outside the 95 % interval, which is tolerated.
	if !about(ten.In80.Coverage, 0) || !about(ten.In80.MeanWidth, 4*mib) || !about(ten.In80.Winkler, 4*mib+10*2*mib) {
		t.Errorf("80 %%: %+v", ten.In80)
	}
	if !about(ten.In95.Coverage, 1) || !about(ten.In95.Winkler, 7*mib) {
		t.Errorf("95 %%: %+v", ten.In95)
	}
	if sum.Horizons[3].Forecasts != 0 || sum.Horizons[3].Relative.Known() {
		t.Errorf("a horizon beyond the trace is scored: %+v", sum.Horizons[3])
	}
	if sum.Alarms.Raised.Known() || sum.Alarms.Recall.Known() {
		t.Errorf("alarms without a total: %+v", sum.Alarms)
	}
}

// At 57 s a sample, no sample is near enough to 10 s, 30 s and a minute. In a gap no horizon has a
// sample.
func TestForecastsAreScoredAgainstFirstSampleInTime(t *testing.T) {
	same := func(_ int, last int64, _ time.Duration) forecast.Interval {
		return forecast.Interval{Median: last, Lower80: last, Upper80: last, Lower95: last, Upper95: last}
	}
	score := replayed(t, &stub{forecast: same}, line(100, 57, 0, func(int) float64 { return gib }))
	var got []int
	for k := range score.At {
		got = append(got, score.At[k].Scored)
	}
	if want := []int{0, 0, 0, 97, 94, 89, 84}; !reflect.DeepEqual(got, want) {
		t.Errorf("scored %v, want %v", got, want)
	}
	gap := &Series{Samples: []Sample{{Seconds: 0}, {Seconds: 16}, {Seconds: 100}, {Seconds: 116.1}}}
	if n := replayed(t, &stub{forecast: same}, gap).At[0].Scored; n != 1 {
		t.Errorf("%d forecasts for 10 s met a sample, 1 is near enough", n)
	}
	tenths := line(200, 0.1, 0, func(int) float64 { return gib })
	if n := replayed(t, &stub{forecast: same}, tenths).At[0].Scored; n != 100 {
		t.Errorf("%d forecasts for 10 s of samples every .1 s, want 100", n)
	}
}

func TestPooledErrorsAreAGeometricMean(t *testing.T) {
	score := func(loss, naive float64) *Score {
		s := &Score{Samples: 10, Cost: time.Microsecond}
		s.At[2] = Accuracy{Scored: 10, Loss: 10 * (loss - tolerance), Naive: 10 * (naive - tolerance)}
		return s
	}
	sum := Summarise(score(2*gib, 1*gib), score(1*gib, 8*gib))
	if h := sum.Horizons[2]; h.Series != 2 || !about(h.Relative, 0.5) {
		t.Errorf("%+v", h)
	}
	if !about(sum.NanosecondsPerSample, 100) {
		t.Errorf("%v ns", sum.NanosecondsPerSample)
	}
}

// untilFull returns a series that is full from sample 1000.
func untilFull(n int) *Series {
	return line(n, 1, 80*gib, func(i int) float64 { return min(80*gib, 80*gib-float64(1000-i)*gib/100) })
}

func TestAlarmsAndTimesToFull(t *testing.T) {
	// From 400 s on, the method predicts the end 10 s too late. It also gives a false alarm of four
	// samples at 100 s, and one of two samples at 200 s, which are too few to raise an alarm.
	m := &stub{full: func(n int) (time.Duration, bool) {
		switch {
		case n >= 100 && n < 104, n >= 200 && n < 202:
			return time.Minute, true
		case n >= 400:
			return time.Duration(max(1000-n, 0)+10) * time.Second, true
		}
		return 0, false
	}}
	sum := Summarise(replayed(t, m, untilFull(1020)))
	a := sum.Alarms
	if a.Fills != 1 || a.Raised != 2 || a.Right != 1 || a.Wrong != 1 || a.Precision != 0.5 || a.Recall != 1 {
		t.Errorf("%+v", a)
	}
	// The end is forecast to be 299 s away at sample 711, and for the third time at 713.
	if a.Lead != 287 {
		t.Errorf("lead %v s", a.Lead)
	}
	soon, later := sum.TimeToFull[0], sum.TimeToFull[1]
	if soon.Asked != 241 || soon.Answered != 241 || soon.Coverage != 1 || !about(soon.Error, 10.0/180) {
		t.Errorf("%+v", soon)
	}
	// Of the 601 samples 300 to 900 s before the end, 301 have a correct answer, and six have a
	// false one. A missing answer counts as an error of 1.
	if later.Asked != 601 || later.Answered != 301+6 {
		t.Errorf("%+v", later)
	}
}

func TestAlarmAtEndOfTraceIsUndecided(t *testing.T) {
	m := &stub{full: func(n int) (time.Duration, bool) { return 200 * time.Second, n >= 900 }}
	a := Summarise(replayed(t, m, line(1000, 1, 80*gib, func(int) float64 { return gib }))).Alarms
	if a.Raised != 1 || a.Undecided != 1 || a.Wrong != 0 || a.Precision.Known() || a.Recall.Known() {
		t.Errorf("%+v", a)
	}
}

func TestFullIsCountedOncePerFilling(t *testing.T) {
	s := line(400, 1, 80*gib, func(i int) float64 {
		if i < 50 || i >= 200 && i < 210 || i >= 212 && i < 230 { // full at the start, and twice within a moment
			return 80 * gib
		}
		return 40 * gib
	})
	if n := replayed(t, &stub{}, s).Filling.Fills; n != 1 {
		t.Errorf("full %d times, want 1", n)
	}
}

func TestLeakFlags(t *testing.T) {
	m := &stub{trend: func(n int) forecast.Trend {
		if n >= 10 && n < 20 || n >= 50 {
			return forecast.Leak
		}
		return forecast.Growing
	}}
	l := Summarise(replayed(t, m, line(100, 2, 0, func(int) float64 { return gib }))).Leak
	if l.Series != 1 || l.Flags != 2 || l.First != 20 || l.Share != 0.6 {
		t.Errorf("%+v", l)
	}
}

func TestCostIsFastestOfThreeReplays(t *testing.T) {
	clock, steps := time.Unix(0, 0), []int{0, 9, 0, 4, 0, 7}
	now := func() time.Time {
		clock = clock.Add(time.Duration(steps[0]) * time.Second)
		steps = steps[1:]
		return clock
	}
	made := 0
	begin := func() Method { made++; return &stub{} }
	if cost := Cost(begin, line(10, 1, 0, func(int) float64 { return gib }), now); cost != 4*time.Second || made != 3 {
		t.Errorf("%v, of %d replays", cost, made)
	}
}

func TestUnknownIsNull(t *testing.T) {
	text, err := json.Marshal(Summarise(&Score{ID: "a"}))
	if err != nil || !strings.Contains(string(text), `"relative_mae":null`) || strings.Contains(string(text), "NaN") {
		t.Errorf("%s %v", text, err)
	}
}

// TestFullDiskIsReportedOnce: a full disk is not reported again for each file and each attempt.
func TestFullDiskIsReportedOnce(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"forecasts.csv", "full.csv", "leaks.csv"} {
		if err := os.Symlink("/dev/full", filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := NewDump(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err == nil || strings.Count(err.Error(), "no space") != 1 {
		t.Errorf("error %v", err)
	}
}

func TestDumpHasEverySampleAndHorizon(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	d, err := NewDump(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := line(3900, 1, 80*gib, func(i int) float64 { return 10*gib + max(float64(i-1500), 0)*gib/36 })
	s.ID = "a,\"b\""
	score := Replay(forecast.New(), s, d.Begin(s))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	rows := func(name string) [][]string {
		file, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }() // nothing was written
		rows, err := csv.NewReader(file).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	forecasts := rows("forecasts.csv")
	if want := 1 + (len(s.Samples)-forecast.MinSamples+1)*len(forecast.Horizons); len(forecasts) != want || forecasts[1][0] != s.ID {
		t.Errorf("%d rows of forecasts, want %d", len(forecasts), want)
	}
	full := rows("full.csv")
	if len(full) < 500 || len(full[1]) != 5 {
		t.Errorf("%d rows of times to full", len(full))
	}
	leaks := rows("leaks.csv")
	if last := leaks[len(leaks)-1]; last[2] != "leak" || score.Leak.Flags == 0 {
		t.Errorf("leaks: %v", leaks)
	}
}

// An error while a dump is written is reported at its end.
func TestDumpReportsAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(dir, "forecasts.csv")); err != nil {
		t.Fatal(err)
	}
	d, err := NewDump(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := line(100, 1, 0, func(int) float64 { return gib })
	Replay(forecast.New(), s, d.Begin(s))
	if err := d.Close(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
}

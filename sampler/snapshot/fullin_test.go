package snapshot

import (
	"testing"
	"time"
	"unicode/utf8"
)

func TestFullInWords(t *testing.T) {
	const m = time.Minute
	for _, tc := range []struct {
		median, earliest, latest time.Duration
		want                     string
	}{
		{250 * time.Second, 200 * time.Second, 340 * time.Second, "full in 4m10s (3m–6m)"},
		{250 * time.Second, 3 * m, 6 * m, "full in 4m10s (3m–6m)"},
		{250 * time.Second, 3 * m, 0, "full in 4m10s (3m+)"},
		{12 * m, 9*m + 59*time.Second, 13*m + time.Second, "full in 12m (9m–14m)"},
		{12*m + 29*time.Second, 9 * m, 100 * m, "full in 12m (9m+)"},
		{58 * time.Second, 20 * time.Second, 2 * m, "full in 58s (0m–2m)"},
		{0, 0, m, "full"},
		{-m, 0, 0, "full"},
		{9*m + 59*time.Second, 9 * m, 99 * m, "full in 9m59s (9m–99m)"},
		{5 * time.Hour, 2 * time.Hour, 9 * time.Hour, "full in 5h00m (99m+)"},
		{30 * time.Hour, 20 * time.Hour, 0, "full in 1d06h (99m+)"},
		{2 * m, 5 * m, m, "full in 2m00s (2m–2m)"}, // bounds on the wrong sides of the median
	} {
		f := FullIn{Median: tc.median, Earliest: tc.earliest, Latest: tc.latest}
		if got := f.Words("–"); got != tc.want {
			t.Errorf("%+v: %q, want %q", f, got, tc.want)
		}
	}
}

func FuzzFullInFitsANote(f *testing.F) {
	f.Add(int64(250e9), int64(200e9), int64(340e9))
	f.Add(int64(599e9), int64(-1), int64(1)<<62)
	f.Fuzz(func(t *testing.T, median, earliest, latest int64) {
		text := (&FullIn{Median: time.Duration(median), Earliest: time.Duration(earliest), Latest: time.Duration(latest)}).Words("–")
		if n := utf8.RuneCountInString(text); n > 22 || text == "" {
			t.Errorf("%q has %d cells", text, n)
		}
	})
}

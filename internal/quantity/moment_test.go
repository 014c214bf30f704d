package quantity

import (
	"testing"
	"time"
)

func TestParseMoment(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("UTC+2", 2*60*60)
	newest := time.Date(2026, 11, 22, 12, 30, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"03:12":                     time.Date(2026, 11, 22, 3, 12, 0, 0, zone),
		"12:30":                     newest,
		"12:30:01":                  time.Date(2026, 11, 21, 12, 30, 1, 0, zone),
		"12:29:00.5":                time.Date(2026, 11, 22, 12, 29, 0, 5e8, zone),
		" 23:00 ":                   time.Date(2026, 11, 21, 23, 0, 0, 0, zone),
		"2026-11-20":                time.Date(2026, 11, 20, 0, 0, 0, 0, zone),
		"2026-11-20 03:12":          time.Date(2026, 11, 20, 3, 12, 0, 0, zone),
		"2026-11-20T03:12:09":       time.Date(2026, 11, 20, 3, 12, 9, 0, zone),
		"2026-11-20T03:12:09Z":      time.Date(2026, 11, 20, 3, 12, 9, 0, time.UTC),
		"2026-11-20T03:12:09+01:00": time.Date(2026, 11, 20, 2, 12, 9, 0, time.UTC),
	} {
		if got, err := ParseMoment(text, newest); err != nil || !got.Equal(want) {
			t.Errorf("ParseMoment(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "noon", "25:00", "2026-13-01", "3pm", "-5m"} {
		if got, err := ParseMoment(text, newest); err == nil {
			t.Errorf("ParseMoment(%q) = %v, want an error", text, got)
		}
	}
}

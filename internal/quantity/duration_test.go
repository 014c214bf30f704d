package quantity

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		58 * time.Second: "58s", 4*time.Minute + 10*time.Second: "4m10s", time.Minute: "1m00s", 2*time.Hour + 23*time.Minute: "2h23m",
		30 * time.Hour: "1d06h", 41 * 24 * time.Hour: "41d", 19*time.Hour + 40*time.Minute: "19h40m", 8*time.Hour + 2*time.Minute: "8h02m",
		-time.Second: "0s", 999999 * time.Hour: "41666d", 1<<63 - 1: "99999d",
	} {
		if got := Duration(d); got != want || len(got) > 6 {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestBriefDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		500 * time.Millisecond: "500ms", time.Second: "1s", 5 * time.Minute: "5m", 2 * time.Hour: "2h", 90 * time.Minute: "1h30m", 0: "0s",
	} {
		if got := BriefDuration(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

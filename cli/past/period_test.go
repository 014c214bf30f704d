package past

import (
	"testing"
	"time"

	"vramscope/cli/command"
)

func TestPeriodsOnTheCommandLine(t *testing.T) {
	newest := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	if p, err := parsePeriod("23:00..01:00", newest); err != nil || p.to.Sub(p.from) != 2*time.Hour {
		t.Errorf("across midnight: %v, %v", p, err)
	}
	for in, want := range map[string]time.Duration{"24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "90m": 90 * time.Minute, "0d": 0, "-1h": 0, "30s": 0, "d": 0, "65535d": 0, "90": 90 * time.Second} {
		if got, err := command.ParseSpan(in); got != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %v, %v", in, got, err)
		}
	}
}

// Processes are summed over five minutes, which include the recording's first minute.
func TestReportBeginsWithTheFirstFiveMinutes(t *testing.T) {
	oldest := time.Date(2026, 11, 20, 12, 3, 27, 0, time.UTC)
	shown, err := (&reportFlags{}).period(oldest, oldest.Add(time.Hour))
	if err != nil || !shown.from.Equal(oldest.Truncate(5*time.Minute)) {
		t.Errorf("it begins at %v, %v", shown.from, err)
	}
}

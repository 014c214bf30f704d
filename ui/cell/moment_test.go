package cell

import (
	"testing"
	"time"
)

func TestAgesChangeTogether(t *testing.T) {
	second := time.Date(2026, 11, 20, 12, 0, 7, 0, time.UTC)
	for _, start := range []time.Duration{0, 100 * time.Millisecond, 500 * time.Millisecond, 990 * time.Millisecond} {
		started := second.Add(start - 5*time.Second)
		for tenth := range 10 {
			now := Moment(second.Add(time.Duration(tenth) * 100 * time.Millisecond))
			if age := now.Since(started); age != 5*time.Second {
				t.Errorf("started %v into a second, looked at %d tenths into one: %v, want 5s", start, tenth, age)
			}
		}
	}
	if age := Moment(second).Since(second.Add(time.Hour)); age != 0 {
		t.Errorf("of a clock that is ahead: %v", age)
	}
}

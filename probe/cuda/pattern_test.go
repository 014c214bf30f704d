package cuda

import (
	"testing"
	"time"
)

// liveAt counts the live blocks.
func liveAt(s *timeline, at time.Duration) int {
	n := 0
	for i := range s.blocks {
		if s.live(i, at) {
			n++
		}
	}
	return n
}

// TestPatternsOverTime checks the live blocks of each pattern, in per cent.
func TestPatternsOverTime(t *testing.T) {
	type sample struct {
		second      float64
		least, most int
	}
	for _, tc := range []struct {
		pattern Pattern
		samples []sample
	}{
		{Steady, []sample{{0, 0, 0}, {.75, 49, 51}, {1.5, 100, 100}, {2, 89, 91}, {60, 89, 91}, {3600, 89, 91}}},
		{Sawtooth, []sample{{0, 0, 0}, {1.5, 100, 100}, {2, 1, 14}, {7.75, 49, 59}, {13.5, 100, 100}, {14, 1, 14}, {19.75, 49, 59}, {25.5, 100, 100}}},
		{Leak, []sample{{0, 0, 0}, {30, 29, 31}, {60, 59, 61}, {100, 100, 100}, {9000, 100, 100}}},
		{Staircase, []sample{{0, 12, 13}, {12, 12, 13}, {13, 24, 26}, {50, 62, 63}, {87.4, 87, 88}, {87.5, 100, 100}, {9000, 100, 100}}},
		{Fragment, []sample{{0, 0, 0}, {1.5, 100, 100}, {2, 50, 50}, {19, 50, 50}, {21, 100, 100}, {22, 50, 50}}},
	} {
		for seed := range uint64(3) {
			s := timeline{pattern: tc.pattern, seed: seed, blocks: 200, length: 100 * time.Second}
			for _, want := range tc.samples {
				at := time.Duration(want.second * float64(time.Second))
				if got := liveAt(&s, at) / 2; got < want.least || got > want.most {
					t.Errorf("%s, seed %d: %d %% of the blocks live at %s, want %d to %d", tc.pattern, seed, got, at, want.least, want.most)
				}
			}
		}
	}
}

// TestFragmentFreesEveryOtherBlock: of two neighbours one is live, and the halves take turns.
func TestFragmentFreesEveryOtherBlock(t *testing.T) {
	s := timeline{pattern: Fragment, blocks: 100}
	for _, at := range []time.Duration{3 * time.Second, 17 * time.Second, 23 * time.Second} {
		for i := range s.blocks - 1 {
			if s.live(i, at) == s.live(i+1, at) {
				t.Fatalf("at %s blocks %d and %d are both live or both free", at, i, i+1)
			}
		}
	}
	if s.live(0, 3*time.Second) == s.live(0, 23*time.Second) {
		t.Error("the same half is free after a turn")
	}
}

func TestSeedsDiffer(t *testing.T) {
	picture := func(pattern Pattern, seed uint64) (bits string) {
		s := timeline{pattern: pattern, seed: seed, blocks: 300, length: time.Minute}
		for _, at := range []time.Duration{3 * time.Second, 9 * time.Second, 31 * time.Second} {
			for i := range s.blocks {
				bits += map[bool]string{true: "1", false: "0"}[s.live(i, at)]
			}
		}
		return bits
	}
	for _, pattern := range []Pattern{Steady, Sawtooth, Fragment} {
		if picture(pattern, 7) == picture(pattern, 8) {
			t.Errorf("%s: seeds 7 and 8 have the same timeline", pattern)
		}
	}
}

func TestParsePattern(t *testing.T) {
	for _, p := range Patterns() {
		if got, err := ParsePattern(string(p)); got != p || err != nil {
			t.Errorf("ParsePattern(%q) = %q, %v", p, got, err)
		}
	}
	if _, err := ParsePattern("Leak"); err == nil {
		t.Error("an unknown pattern is accepted")
	}
}

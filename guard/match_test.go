package guard

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	some := func(letters []string, most int) (s string) {
		for range rng.IntN(most) {
			s += letters[rng.IntN(len(letters))]
		}
		return s
	}
	found := 0
	for range 20000 {
		pattern, text := some([]string{"a", "b", "é", "*", "?"}, 7), some([]string{"a", "b", "é"}, 7)
		means := strings.NewReplacer("*", ".*", "?", ".").Replace(pattern)
		want := pattern == "" || regexp.MustCompile("^"+means+"$").MatchString(text)
		if got := matches(pattern, text); got != want {
			t.Fatalf("matches(%q, %q) is %v", pattern, text, got)
		}
		if want {
			found++
		}
	}
	if found < 1000 {
		t.Errorf("only %d matched", found)
	}
}

// Every look matches every pattern with every process's command line, which any user
// chooses.
func TestMatchingTakesNoMemory(t *testing.T) {
	line := strings.Repeat("a", 4<<10)
	if n := testing.AllocsPerRun(1, func() { matches("*b*a?a*", line) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

package guard

import "testing"

func TestPatterns(t *testing.T) {
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", true}, {"*", "two\nlines", true},
		{"train*", "train.py --cfg a.yaml", true}, {"train*", "retrain.py", false},
		{"*train*", "retrain.py", true}, {"*.py", "train.py", true}, {"*.py", "train.pyc", false}, {"*.py", "trainxpy", false},
		{"a*b*c", "abc", true}, {"a*b*c", "a.b.b.c", true}, {"a*b*c", "acb", false}, {"ab*ba", "aba", false},
		{"slurm:?", "slurm:7", true}, {"slurm:?", "slurm:77", false}, {"?", "ü", true}, {"?", "", false}, {"?", "\xff", true},
		{"pod:[a-z]", "pod:x", false}, {`a\*`, `a\b`, true}, {"\xff", "\xff", true}, {"Train", "train", false},
	} {
		if got := compile(tc.pattern).MatchString(tc.text); got != tc.want {
			t.Errorf("%q of %q: %v", tc.pattern, tc.text, got)
		}
	}
}

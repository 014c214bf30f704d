package command

import "testing"

// TestStatusKeepsItsLastPart: in a narrow terminal a short last part is not cut.
func TestStatusKeepsItsLastPart(t *testing.T) {
	s := Status{Ellipsis: "..."}
	for line, want := range map[string]string{
		"needs 20.0G":                               "needs 20.0G",
		"needs 20.0G; 2 before you":                 "needs 20.0G; 2 before you",
		"needs 20.0G, most free is 4; 2 before you": "needs 20.0G, mo...; 2 before you",
		"one; a last part that is longer than half": "one; a last part that is long...",
	} {
		if got := s.fit(line, 32); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

package text

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	words := []string{"interval", "theme", "read_only", "once", "doctor"}
	for word, want := range map[string]string{
		"intervall": "interval", "Theme": "theme", "readonly": "read_only", "onec": "once", "docter": "doctor",
		"doc": "doctor", "launch": "", "": "", "x": "", strings.Repeat("a", 1000): "",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("%.20q: got %q, want %q", word, got, want)
		}
	}
}

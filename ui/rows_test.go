package ui

import (
	"strings"
	"testing"
)

// TestScrolledCommandSaysSo: a command whose beginning is out of sight is
// marked at that end too.
func TestScrolledCommandSaysSo(t *testing.T) {
	m := newTestModel(t, smallBox(4, 3, 0), nil)
	before := strings.Count(m.screen(), "…")
	m.press("right")
	rows := 0
	for line := range strings.Lines(m.screen()) {
		if strings.Contains(line, " …--rank ") {
			rows++
		}
	}
	if rows == 0 {
		t.Errorf("nothing says that the commands are scrolled\n%s", m.screen())
	}
	m.press("left")
	if strings.Count(m.screen(), "…") != before {
		t.Errorf("scrolled back\n%s", m.screen())
	}
}

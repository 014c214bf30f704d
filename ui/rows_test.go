package ui

import (
	"strings"
	"testing"
)

// TestScrolledCommandSaysSo: an ellipsis marks a command whose beginning is not visible.
func TestScrolledCommandSaysSo(t *testing.T) {
	s := smallBox(4, 3, 0)
	for i := range s.Rows {
		s.Rows[i].Command = append(s.Rows[i].Command, "--out", "0123456789012345678901234567890123456789")
	}
	m := newTestModel(t, s, nil)
	before := strings.Count(m.screen(), "…")
	m.press("right")
	rows := 0
	for line := range strings.Lines(m.screen()) {
		if strings.Contains(line, " …-") {
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

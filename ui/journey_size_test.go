package ui

import "testing"

// TestForgedSizeIsIgnored: what looks like a terminal's report of another size,
// pasted or garbled, does not shrink the screen; a real resize still counts.
func TestForgedSizeIsIgnored(t *testing.T) {
	t.Parallel()
	m := launch(t, "moving", 80, 24)
	m.untilText("train.py")
	m.press("\x1b[8;5;5t")         // as XTWINOPS 18 is answered
	m.press("\x1b[48;2;20;40;40t") // as mode 2048 reports
	m.press("?")
	m.untilText("keys and signs")
	m.untilText("Esc closes ┐")
	m.resize(100, 30)
	m.press("q")
	m.untilText(" GPU ■ oth")
	m.press("q")
	m.ends(0, soon)
	m.restored()
}

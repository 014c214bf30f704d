package dialog

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"vramscope/ui/uitest"
)

func rendered(o Overlay, width, height int) string {
	return strings.Join(o.Render(width, height), "\n")
}

// pressed plays keys to an overlay of 80×14.
func pressed(o Overlay, keys ...string) (Overlay, Outcome) {
	var out Outcome
	for _, k := range keys {
		o, out = o.Press(k, 80, 14)
	}
	return o, out
}

func matches(t *testing.T, o Overlay, width, height int) {
	t.Helper()
	lines := o.Render(width, height)
	uitest.CheckCells(t, lines, width, height)
	golden.RequireEqual(t, []byte(strings.Join(lines, "\n")+"\n"))
}

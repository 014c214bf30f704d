package cell

import (
	"testing"

	"github.com/charmbracelet/colorprofile"

	"vramscope/internal/quantity"
	"vramscope/themes"
)

const (
	kib = quantity.KiB
	mib = quantity.MiB
	gb  = quantity.GiB
)

// drawn returns an appearance without colours, with the glyphs of the drawings.
func drawn(t testing.TB) *Appearance {
	t.Helper()
	styles, err := themes.New("mono", true, colorprofile.NoTTY)
	if err != nil {
		t.Fatal(err)
	}
	return &Appearance{Styles: styles, Glyphs: UnicodeGlyphs()}
}

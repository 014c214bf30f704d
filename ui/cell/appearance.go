package cell

import (
	"vramscope/themes"
	"vramscope/ui/keys"
)

// Appearance is how a frame is drawn and which keys it names. Panels hold a pointer to it,
// so that they follow a change of theme.
type Appearance struct {
	Styles  themes.Styles
	Glyphs  Glyphs
	Keys    *keys.Bindings // the keys that are bound and allowed
	Version string         // of vramscope; "" where unknown

	commands commandCache
}

// Known is the style of a figure: an unknown one is dim.
func (a *Appearance) Known(known bool) themes.Style {
	if known {
		return a.Styles.Text
	}
	return a.Styles.Dim
}

package cell

import (
	"vramscope/themes"
	"vramscope/ui/keys"
)

// Appearance is how a frame is drawn and which keys it names. It changes with
// the theme and the options, never with the data. Panels hold a pointer to it,
// so that an open one follows a change of theme.
type Appearance struct {
	Styles  themes.Styles
	Glyphs  Glyphs
	Keys    *keys.Bindings // what is bound and allowed in this run
	Version string         // of vramscope, for the help's title; "" where unknown

	commands commandCache // what rows show of their commands
}

package cell

import "vramscope/themes"

// Appearance is what cells are drawn with: a theme's styles and a set of
// glyphs. It changes with the theme, never with the data.
type Appearance struct {
	Styles themes.Styles
	Glyphs Glyphs

	commands commandCache // what rows show of their commands
}

package ui

import "vramscope/themes"

// look is how things are drawn and what may be done, apart from what is
// shown: it changes with the theme and the options, never with the data.
// Panels hold a pointer to it, so that an open one follows a change of theme.
type look struct {
	styles  themes.Styles
	glyphs  glyphs
	keys    *bindings // what is bound and allowed in this run
	version string    // of vramscope, for the help's title; "" where unknown

	commands commandCache // what rows show of their commands
}

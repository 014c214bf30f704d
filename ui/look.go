package ui

import (
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// look is how things are drawn and what may be done, apart from what is
// shown: it changes with the theme and the options, never with the data.
// Panels hold a pointer to it, so that an open one follows a change of theme.
type look struct {
	cell.Appearance
	keys    *keys.Bindings // what is bound and allowed in this run
	version string         // of vramscope, for the help's title; "" where unknown
}

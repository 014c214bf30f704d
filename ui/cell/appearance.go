package cell

import (
	"vramscope/themes"
	"vramscope/ui/keys"
)

// Appearance is how frames are drawn, and the keys that they name. Panels hold a pointer to it and so follow a change
// of theme.
type Appearance struct {
	Styles  themes.Styles
	Glyphs  Glyphs
	Keys    *keys.Bindings // the keys that are bound and allowed
	Version string         // of vramscope; "" where unknown

	commands commandCache
}

// Known returns the style of a figure: dim if it is unknown.
func (a *Appearance) Known(known bool) themes.Style {
	if known {
		return a.Styles.Text
	}
	return a.Styles.Dim
}

// Inks returns the style and the glyph of other, unknown, allocated, fragmented, cached and free memory. If colours
// distinguish the parts, all but free have one glyph, which leaves a thin gap between lines. Otherwise each part has a
// texture.
func (a *Appearance) Inks() [6]Span {
	s, g := &a.Styles, &a.Glyphs
	inks := [6]Span{
		{s.Other, g.Other}, {s.Unknown, g.Unknown}, {s.Allocated, g.Allocated},
		{s.Fragmented, g.Fragmented}, {s.Returnable, g.Returnable}, {s.Free, g.Free},
	}
	switch {
	case a.Solid():
		for i := range inks[:5] {
			inks[i].Text = g.Solid
		}
	case s.Hatched && !g.ASCII:
		inks[2].Text, inks[4].Text = g.Solid, g.Hatch
	}
	return inks
}

// Swatches returns the inks for a legend. Where bars are solid, a swatch has a glyph that no bar has.
func (a *Appearance) Swatches() [6]Span {
	swatches := a.Inks()
	if a.Solid() {
		for i := range swatches[:5] {
			swatches[i].Text = a.Glyphs.Swatch
		}
	}
	return swatches
}

// Solid reports whether bars are drawn only in colours, without textures.
func (a *Appearance) Solid() bool { return a.Styles.Solid && !a.Glyphs.ASCII }

// Areas reports whether the graph can show the parts of memory. Smooth reports whether the graph draws the parts only
// in colours, and the forecast in faded colours.
func (a *Appearance) Areas() bool  { return a.Styles.Allocated != (themes.Style{}) && !a.Glyphs.ASCII }
func (a *Appearance) Smooth() bool { return a.Styles.Veil[0] != (themes.Style{}) }

// Package cell writes rows of terminal cells: text, figures and bars that are exactly as wide as asked.
//
//	text from outside ── Clean ── Cut, Wrap ──┐
//	figures (Append…) ────────────────────────┼── Line ── string of exactly Width cells
//	bars (Parts) ─────────────────────────────┘
//
// Start reading at Line. Appearance has the theme's styles and the glyphs.
package cell

// Package cell writes rows of terminal cells: text, figures and bars that are
// exactly as wide as asked.
//
//	text from outside ── Clean ── Cut, Wrap ──┐
//	figures (Append…, FullIn, …) ─────────────┼── Line ── string of exactly Width cells
//	bars (Parts) ─────────────────────────────┘
//
// Start reading at Line. Appearance is what every package of the screen draws with: the theme's
// styles and the set of glyphs.
package cell

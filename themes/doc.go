// Package themes defines the themes as lipgloss styles and resolves them for a
// terminal. Colours exist only here; ui names meanings.
//
//	theme (lipgloss.Style per meaning) ── terminal's colour profile ── Styles (styles with their escape sequences)
//
// Start reading at New; palette.go has the colours.
package themes

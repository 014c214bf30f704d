// Package page writes a report as one HTML file without scripts or fonts. Its
// Content-Security-Policy forbids it to load anything. The page follows the reader's choice of
// light or dark, and fits a phone's screen.
//
//	schema.Report ─┬→ chart: an SVG for each GPU ─┐
//	               └→ page, page.css ─────────────┴→ one file
//
// Names of processes may be hostile: put escapes them, and charts contain none of them. Go's
// templates would escape them, too, but would make the linker keep every exported method: 3 MB.
//
// Start reading at Write.
package page

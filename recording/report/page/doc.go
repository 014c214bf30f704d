// Package page writes a report as one HTML file: no script, no font, and a policy that lets it
// load nothing. It follows the reader's choice of light or dark, and fits a telephone.
//
//	schema.Report ─┬→ chart: an SVG for each GPU ─┐
//	               └→ page, page.css ─────────────┴→ one file
//
// Names of processes may be hostile: put escapes them, and charts have only numbers. Go's
// templates would escape them, too, but make the linker keep every exported method: 3 MB.
//
// Start reading at Write.
package page

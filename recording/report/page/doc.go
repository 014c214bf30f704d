// Package page writes a report as one HTML file: no script, no font, nothing from
// elsewhere, and a policy that lets it load nothing. It follows the reader's choice
// of light or dark, and fits a telephone.
//
//	schema.Report ─┬→ chart: an SVG for each GPU ─┐
//	               └→ page, page.css ─────────────┴→ one file
//
// Names of processes are hostile: put escapes them, and charts have numbers only.
// Templates would do that, too, but keep each exported method in the program file: 3 MB.
//
// Start reading at Write.
package page

// Package page writes a report as one HTML file without scripts or fonts. The page has a light and a
// dark style, and fits a phone's screen. Its Content-Security-Policy forbids loading anything.
//
//	schema.Report ─┬→ chart: an SVG for each GPU ─┐
//	               └→ page, page.css ─────────────┴→ one file
//
// Names of processes may be hostile: put escapes them, and charts do not contain them. html/template
// would escape them too, but would make the linker keep every exported method: 3 MB.
//
// Start reading at Write.
package page

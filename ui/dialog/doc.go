// Package dialog draws overlays: the questions before an action (Flush, Attach, Signal, Pause), the menus (Setup,
// SortBy), and the panels that scroll (Help, Events, Why, Environment, Report).
//
//	key ────→ Press ──→ the next Overlay and an Outcome ─→ ui acts on it
//	Screen ─→ Follow ─→ the Overlay with the newest figures
//	          Render ─→ lines of cells in a frame
//
// Overlays are values; none of them acts. Start reading at overlay.go; form.go lays a question out.
package dialog

// Package screen is the screen of a fleet: a line for each GPU or box, worst first.
//
//	Poller ── View, one slot ──→ Update ─→ model ── frame ──→ lines ─→ terminal
//	keys ──────────────────────────┘        └── Ask: other lines, order, filter
//
// It draws with the cells, glyphs and themes of the monitor. Opening a box or a shell on a box ends
// Run with an Outcome. The caller shows the box or shell, and then calls Run again.
//
// Start reading at Run and model.go.
package screen

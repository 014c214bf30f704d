// Package ui is the Bubble Tea program that turns snapshots into a screen.
//
//	key, mouse, resize ─→ Update ─→ state
//	Snapshot (newest) ──→ Update ─→ state.live        frame(state) ─→ lines ─→ Frame
//
// The terminal gets only the changes of the frame (ui/terminal). Panels are values with Render(width, height).
// Update does no IO, and View changes nothing: slow work runs in a tea.Cmd, and the Actions, which cli binds,
// act on processes. The packages below ui do not import it.
//
// Start reading at state.go, then update.go and screen.go.
package ui

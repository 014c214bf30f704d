// Package ui is the Bubble Tea program that turns snapshots into a screen.
//
//	key, mouse, resize ─→ Update ─→ state
//	Snapshot (newest) ──→ Update ─→ state.live        frame(state) ─→ lines ─→ Frame
//
// The terminal gets only the changes of the frame (ui/terminal). Panels are values
// with Render(width, height). The layout is computed for each frame, the styles once per theme.
// Update does no IO and View changes nothing: what takes time runs in a tea.Cmd, and what acts on
// processes goes through Actions, which cli binds. The packages below (gpus, table, graph, gpupage,
// detail, segments, dialog, terminal) draw with cell and keys and do not import ui.
//
// Start reading at state.go, then update.go and screen.go.
package ui

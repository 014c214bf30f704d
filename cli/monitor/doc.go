// Package monitor is the live screen: vramscope without a command. It binds what the
// screen may do to the box, and what it saves.
//
//	sources.Set ─→ sampler ─→ ui.Run ─→ actions (flush, attach, signals) ─→ the end waits for them
//	recordings, daemon ─→ the past before the first sample
//
// Start with monitor.go. Replays and boxes of a fleet use its screen as well.
package monitor

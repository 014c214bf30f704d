// Package monitor is the live screen: vramscope without a command.
//
//	sources.Set ─→ sampler ─→ ui.Run ─→ actions (flush, attach, signals) ─→ the end waits for them
//	recordings, daemon ─→ the past before the first sample
//
// Start with monitor.go. Replays and the boxes of a fleet use the same screen.
package monitor

// Package store keeps time series of integers, compressed, in two resolutions,
// and a log of events.
//
//	Append → head (raw, 128 ticks) ── full ──→ sealed blocks of 128 ticks, 3,600 samples
//	                                               │ fold: minimum, maximum, last
//	                                               ↓
//	                                 sealed blocks of 128 buckets of 15 s, 24 h
//
//	At, Buckets ←─ full resolution where it reaches, else the buckets
//
// A tick is a moment at which samples are taken. The times of ticks are kept once
// for all series; a series has a bit for each tick with a sample. A tick without
// a sample is a gap: neither zero nor a repeat.
//
// One goroutine writes (Open, Begin, Append, Commit, Close). Any number of
// others read (At, Buckets, Span). Neither side waits: readers see a view
// that Commit publishes, and sealed blocks never change. Only the raw head is
// written in place, at ticks beyond every published view.
//
// Sealing is staggered: series i starts a new block at the ticks t with
// t ≡ i (mod 128), so that a tick seals one series in 128.
//
// The values have no unit. Start reading at Store and Series.
package store

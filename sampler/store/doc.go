// Package store keeps time series of integers, compressed, in two resolutions.
//
//	Append → head (raw, 128 ticks) ── full ──→ sealed blocks of 128 ticks, at least 3,600
//	                                               │ fold: minimum, maximum, last
//	                                               ↓
//	                                 sealed blocks of 128 buckets of 15 s, 24 h
//
//	At, Buckets ←─ full resolution where it reaches, else the buckets
//
// A tick is a moment at which samples are taken. The times of ticks are kept once for all series. In
// a series, a bit for each tick says whether there is a sample. A tick without a sample is a gap.
//
// A Store is not safe for concurrent use. Its values have no unit. Start reading at Store and Series.
package store

// Package history keeps the snapshots of the sampler as series.
//
//	Snapshot ── Record ──→ rosters of rows and GPUs ── store.Series ──→ At, Series
//	alerts, events ──────→ spans, log ─────────────────────────────────→ At, Events
//
// Start reading at History.
package history

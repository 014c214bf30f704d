// Package history remembers what the sampler has published.
//
//	Snapshot ── Record ──→ rosters of rows and GPUs ── store.Series ──→ At, Series
//	alerts, events ──────→ spans, log ─────────────────────────────────→ At, Events
//
// Start reading at History.
package history

// Package report evaluates a recording: how each GPU's memory was used over time, how often it
// ran out, how much flushes freed, which processes keep memory without using it, and how good the
// forecaster's alerts were.
//
//	recording ── rows, in the order of time ─→ Builder ─→ schema.Report ─┬→ text, Markdown, JSON (cli)
//	                                             │                       └→ page: HTML
//	             the period before ─→ Builder ───┴ Compare
//
// The package does no I/O: rows go in, and a document comes out. Rows are kept as sums, so the
// memory for a report hardly grows with its period.
//
// Only recorded time counts: GiB·h are sums over it, and percentages are of the capacity in it.
//
// Start reading at Builder.
package report

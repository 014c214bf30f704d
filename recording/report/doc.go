// Package report evaluates a recording: how each GPU's memory was used over time, how often it
// ran out, how much flushes freed, which processes keep memory without using it, and how good the
// forecaster's alerts were.
//
//	recording ── rows, in the order of time ─→ Builder ─→ schema.Report ─┬→ text, Markdown, JSON (cli)
//	                                             │                       └→ page: HTML
//	             the period before ─→ Builder ───┴ Compare
//
// It is pure: rows in, a document out. Rows are kept as sums, so that a month takes as much
// memory as a day.
//
// Only recorded time counts: GiB·h are sums over it, and percentages are of the capacity in it.
//
// Start reading at Builder.
package report

// Package report evaluates a recording: what the memory of each GPU was over time,
// how often it ran out, what flushes brought, who keeps memory without using it,
// and how good the forecaster's alerts were.
//
//	recording ── rows, in the order of time ─→ Builder ─→ schema.Report ─┬→ text, Markdown, JSON (cli)
//	                                             │                       └→ page: HTML
//	             the period before ─→ Builder ───┴ Compare
//
// It is pure: rows in, a document out. Rows are kept as sums, so that a month
// takes as much memory as a day.
//
// Time without samples does not count: GiB·h are sums over recorded time, and
// percentages are of the capacity while it was recorded.
//
// Start reading at Builder.
package report

// Package report evaluates a recording: how each GPU's memory was used over time, how often memory
// ran out, how much flushes freed, which processes keep memory without using it, and how good the
// forecaster's alerts were.
//
//	recording ── rows, in the order of time ─→ Builder ─→ schema.Report ─┬→ text, Markdown, JSON (cli)
//	                                             │                       └→ page: HTML
//	             the period before ─→ Builder ───┴ Compare
//
// The package does no I/O: rows go in, and a document comes out. It keeps sums instead of rows, so
// the memory for a report hardly grows with its period.
//
// Only recorded time counts, for GiB·h and for the capacity in percentages.
//
// Start reading at Builder.
package report

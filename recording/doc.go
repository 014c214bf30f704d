// Package recording keeps snapshots on disk, in one SQLite database a day, and reads them back as
// a snapshot.History.
//
//	Append ─ bounded queue ─→ day: block of 128 ticks ── full ──→ chunks ┐
//	                           │ a row a tick ──→ tail (kill -9: ≤ 2 s)  ├─ commit every 2 s
//	                           └ names, states, events, sums ──→ rows ───┘
//
//	Open(file or folder) ─→ Recording: At, Series, Span, Events; Processes, Alerts, …
//
// A database covers a UTC day, because a local day may have 23 or 25 hours and differs between
// places. docs/recording.md documents the schema for SQL queries.
//
// Start reading at Writer, day and Recording.
package recording

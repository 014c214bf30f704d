// Package schema is the JSON that vramscope writes: the documents as Go types, apart
// from the program's own types so that these can change without the output changing.
//
//	snapshot.Snapshot ── Of ──→ Document ──┐
//	flush, headroom, report, fleet, guard ─┴─ Encode ──→ JSON
//
// Unknown is null, sizes are integers in bytes, and no field is ever left out. Fields may be added
// under the same schema name; none changes its meaning. The documents are described in docs/json.md
// and, for validators, in *.schema.json; schema_test.go compares these with the types. The
// documents of why, advise and backtest are in recording/why, guard/advice and forecast/backtest.
//
// Start at Document in once.go.
package schema

// The names of the schemas.
const (
	Version       = "vramscope/1"
	ReportVersion = "vramscope/report/1"
)

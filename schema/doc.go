// Package schema defines the JSON documents that vramscope writes. Its types are separate from the
// program's own types, which can therefore change without changing the output.
//
//	snapshot.Snapshot ── Of ──→ Document ──┐
//	flush, holds, lease, report, fleet, … ─┴─ Encode ──→ JSON
//
// An unknown value is null. Sizes are integers in bytes. No field is ever left out. Fields may be
// added under the same schema name, but the meaning of a field never changes. The documents are
// described in docs/json.md and, for validators, in *.schema.json; schema_test.go compares these
// files with the types. Some documents are defined next to the code that fills them: in
// recording/why, guard/advice, forecast/backtest, memoryviz and memoryviz/whatif.
//
// Start at Document in once.go.
package schema

// Version is the schema of the documents that have no name of their own. ReportVersion is the
// schema of Report.
const (
	Version       = "vramscope/1"
	ReportVersion = "vramscope/report/1"
)

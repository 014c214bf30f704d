// Package keys is the one table of keys, for Update, the help screen and the bottom line, so that they agree.
//
//	New(abilities, readOnly) ─┬─ Match(key, scope, past) ─→ Update
//	                          ├─ Hints(scope, past) ──────→ bottom line
//	                          └─ All ─────────────────────→ help
//
// Start reading at table.go, which has the keys.
package keys

// Package install writes files that programs will load to places where only their owner can change
// them: a user who can write there can run code in those programs.
//
//	cache (0700) ─ Below ─→ cache/NAME (0700) ─ File ─→ cache/NAME/FILE, whole or not at all
//
// Start reading at Below.
package install

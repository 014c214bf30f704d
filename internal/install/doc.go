// Package install writes files that programs will load. It protects them from other users: a user
// who can change such a file can run code in those programs.
//
//	cache (0700) ─ Below ─→ cache/NAME (0700) ─ File ─→ cache/NAME/FILE, whole or not at all
//
// Start reading at Below.
package install

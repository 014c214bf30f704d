// Package guarding has the commands about the daemon's guard: guard check, guard log and guard
// replay. The guard itself is in package guard, and acts only in a daemon. Start with check.go.
package guarding

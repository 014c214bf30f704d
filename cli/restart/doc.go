// Package restart replaces this process by a new one: after an upgrade of the
// driver, and for a new configuration of a daemon. Start with restart.go.
package restart

//go:build !linux

package process

import "time"

// bootTime is unknown without a /proc.
func bootTime(time.Time) time.Time { return time.Time{} }

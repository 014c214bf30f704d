//go:build !linux

package process

import "time"

// bootTime is not known where there is no /proc to compare it with.
func bootTime(time.Time) time.Time { return time.Time{} }

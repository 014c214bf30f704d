package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime is when the machine booted, by the clock that counts start times.
// /proc/stat takes milliseconds on a machine with hundreds of cores, and has the
// container's start under lxcfs.
func bootTime(now time.Time) time.Time {
	var sinceBoot unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &sinceBoot); err != nil {
		return time.Time{}
	}
	return now.Add(-time.Duration(sinceBoot.Nano()))
}

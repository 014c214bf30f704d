package main

import (
	"syscall"
	"time"
)

// processorTime is a clock that runs while this process does: what else a
// machine does says nothing of what a forecast costs.
func processorTime() time.Time {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return time.Now()
	}
	return time.Unix(0, used.Utime.Nano()+used.Stime.Nano())
}

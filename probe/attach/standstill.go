package attach

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// standstill measures, from outside, for how long a process is stopped by its
// tracer: gdb's own view would leave out what gdb does not see.
type standstill struct {
	stop chan struct{}
	sum  chan time.Duration
}

// watchStandstill looks at a process's first thread about a thousand times a
// second. So it is told to about a millisecond for each stop.
func watchStandstill(proc string, pid int) *standstill {
	s := &standstill{stop: make(chan struct{}), sum: make(chan time.Duration, 1)}
	path := filepath.Join(proc, strconv.Itoa(pid), "stat")
	go func() {
		var sum time.Duration
		last, stopped := time.Now(), false
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			now := time.Now()
			if stopped {
				sum += now.Sub(last)
			}
			last, stopped = now, isTracedStopped(path)
			select {
			case <-s.stop:
				s.sum <- sum
				return
			case <-tick.C:
			}
		}
	}()
	return s
}

// end ends the measuring.
func (s *standstill) end() time.Duration {
	close(s.stop)
	return <-s.sum
}

func isTracedStopped(path string) bool {
	content, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	// The name may hold anything, so that only the last parenthesis ends it.
	return bytes.HasPrefix(content[bytes.LastIndexByte(content, ')')+1:], []byte(" t"))
}

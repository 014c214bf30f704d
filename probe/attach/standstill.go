package attach

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// standstill measures how long a debugger stops a process, by reading the
// process's state: gdb's own record would miss what happens while gdb hangs.
type standstill struct {
	stop chan struct{}
	sum  chan time.Duration
}

// watchStandstill reads the state of a process's first thread every
// millisecond, which is the precision for each stop.
func watchStandstill(proc string, pid int) *standstill {
	s := &standstill{stop: make(chan struct{}), sum: make(chan time.Duration, 1)}
	path := filepath.Join(proc, strconv.Itoa(pid), "stat")
	go func() {
		var stood stops
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for ended := false; !ended; {
			select {
			case <-s.stop:
				ended = true
			case <-tick.C:
			}
			stood.add(time.Now(), stateOf(path))
		}
		s.sum <- stood.sum
	}()
	return s
}

// stops adds up how long a process was stopped, from its state at moments.
type stops struct {
	sum     time.Duration
	last    time.Time // when the newest state was read
	stopped bool      // whether that was a stop by the debugger
}

func (s *stops) add(now time.Time, state byte) {
	if s.stopped {
		s.sum += now.Sub(s.last)
	}
	// 'T' after 't': the debugger died and left the process stopped.
	s.last, s.stopped = now, state == 't' || state == 'T' && s.stopped
}

// end returns the time measured.
func (s *standstill) end() time.Duration {
	close(s.stop)
	return <-s.sum
}

// stateOf reads the state in a process's stat file, 0 if it cannot.
func stateOf(path string) byte {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	// The program's name may contain parentheses: the last one ends it.
	rest := content[bytes.LastIndexByte(content, ')')+1:]
	if len(rest) < 2 || rest[0] != ' ' {
		return 0
	}
	return rest[1]
}

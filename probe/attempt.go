package probe

import (
	"maps"
	"path/filepath"
	"slices"
	"time"
)

// target is what may lead to a probe: a socket by its path, or a process.
type target struct {
	directory string
	name      string
	pid       int
}

func (t target) path() string { return filepath.Join(t.directory, t.name) }

// attempt records what became of a target. A task that hangs stays busy, and is
// never started a second time.
type attempt struct {
	busy      bool
	failures  int
	notBefore time.Time     // on the real clock
	probe     *probeProcess // that it led to
	err       error
	listing   listing  // of a directory
	left      []string // of its names: those that have not been visited yet

	searched time.Time // for the probe of a process, everywhere; only a search touches these
	without  []visited // see sought
}

// fail records a failure. The time until the next attempt doubles up to longest.
func (a *attempt) fail(err error, longest time.Duration) {
	a.err = err
	a.notBefore = time.Now().Add(min(time.Second<<min(a.failures, 10), longest))
	a.failures++
}

// The longest time between two attempts on a target that keeps failing.
const (
	searchRetryLimit  = 5 * time.Second  // a process in a container, which may start a probe later
	sharedRetryLimit  = 2 * time.Minute  // a process whose directories are listed anyway: a search takes 30 system calls
	sharedSearches    = 8                // a second, of so many processes that a search each two minutes is too often
	sharedFailures    = 5                // so that its second search is 32 s after the first
	connectRetryLimit = 30 * time.Second // a socket without a listener, a probe that breaks the protocol
)

// due reports whether a target may be tried, which leads to no open connection.
func (a *attempt) due() bool {
	return (a.probe == nil || a.probe.ended == nil) && !time.Now().Before(a.notBefore)
}

// attemptOn returns the attempt on a target. The lock is held.
func (m *Monitor) attemptOn(t target) *attempt {
	a := m.attempts[t]
	if a == nil {
		a = &attempt{}
		m.attempts[t] = a
	}
	return a
}

// forget drops the attempts in a directory, except those on these names and
// those that are busy. The lock is held.
func (m *Monitor) forget(path string, except []string) {
	maps.DeleteFunc(m.attempts, func(t target, a *attempt) bool {
		return t.directory == path && !a.busy && !slices.Contains(except, t.name)
	})
}

package cli

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

const (
	quickProcessors = 2  // of a monitor's first sample
	manyProcessors  = 16 // with more, what Go's runtime allocates for each counts: half a MiB

	// fewVariable tells a program that it was executed once more.
	fewVariable = "VRAMSCOPE_FEW_PROCESSORS"
)

// onFewProcessors executes a program that will run for hours once more, with GOMAXPROCS
// set, where there are many processors: Go's runtime has allocated memory for each by
// then, 4.4 MiB for 128, and would collect garbage on 30 threads, which stay. It returns
// where that fails, too. GOMAXPROCS in the environment comes first; what is set here is
// not for children.
func (p *program) onFewProcessors() {
	if p.getenv(fewVariable) != "" {
		_ = os.Unsetenv(fewVariable) // fails for no name that could be looked up
		_ = os.Unsetenv("GOMAXPROCS")
		return
	}
	// Without a standard output the next one would have the /dev/null of Go's runtime.
	if p.execute == nil || p.noStdout || p.processors <= manyProcessors || p.getenv("GOMAXPROCS") != "" {
		return
	}
	// Where the dynamic linker was given the program, /proc/self/exe is the linker.
	path, err := exec.LookPath(os.Args[0])
	if err != nil || !sameFile(path, "/proc/self/exe") {
		return
	}
	environ := slices.DeleteFunc(os.Environ(), func(v string) bool { // of two entries the first would count
		return strings.HasPrefix(v, "GOMAXPROCS=") || strings.HasPrefix(v, fewVariable+"=")
	})
	_ = p.execute(path, os.Args, append(environ, fewVariable+"=1", "GOMAXPROCS="+strconv.Itoa(quickProcessors))) // it also runs as it is
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// quickStart has a monitor take its first sample on two processors, of however many there
// are, until stayLight; GOMAXPROCS in the environment comes first. A demo collects its
// garbage as always: what stays of its past would be spread over 6 MB more.
func (p *program) quickStart() (restore func()) {
	if !p.flags.demo {
		collectLate()
	}
	return onProcessors(quickProcessors)
}

// stayLight prepares the process to run for hours, until the returned function is
// called. It comes first: a collection of garbage on all of 128 processors starts 128
// goroutines and 32 threads, which stay.
func (p *program) stayLight() (restore func()) {
	onAll := onProcessors(1)
	collected := p.collectGarbage()
	stop := forgetStart()
	return func() { stop(); collected(); onAll() }
}

// onProcessors has goroutines run on at most n processors, until the returned function is
// called; GOMAXPROCS in the environment comes first. A monitor has one: it waits nearly all
// the time. Each goroutine that hands over to another would wake a second processor for
// it, which costs more than what they do: a fifth of the monitor's processor time, and
// nine of ten futex calls. Calls of the driver and of the kernel that take long have
// threads of their own all the same.
func onProcessors(n int) (restore func()) {
	if os.Getenv("GOMAXPROCS") != "" {
		return func() {}
	}
	before := runtime.GOMAXPROCS(min(n, runtime.GOMAXPROCS(0)))
	return func() { runtime.GOMAXPROCS(before) }
}

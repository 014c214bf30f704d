package cli

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestStayLight: how many processors a monitor runs on does not depend on the machine.
func TestStayLight(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	t.Setenv("GOGC", "")
	before, percent := runtime.GOMAXPROCS(128), debug.SetGCPercent(100)
	defer func() { runtime.GOMAXPROCS(before); debug.SetGCPercent(percent) }()
	p := &program{getenv: func(string) string { return "" }}
	restore := p.stayLight()
	if n, percent := runtime.GOMAXPROCS(0), debug.SetGCPercent(100); n != 1 || percent != 35 {
		t.Errorf("%d processors, GOGC %d", n, percent)
	}
	restore()
	if n := runtime.GOMAXPROCS(0); n != 128 {
		t.Errorf("%d processors afterwards", n)
	}
	t.Setenv("GOMAXPROCS", "128")
	p.stayLight()()
	if n := runtime.GOMAXPROCS(0); n != 128 {
		t.Errorf("%d processors against the environment", n)
	}
}

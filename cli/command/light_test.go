package command

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// TestStayLight: the number of processors that a monitor runs on does not depend on the machine.
func TestStayLight(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	t.Setenv("GOGC", "")
	before, percent := runtime.GOMAXPROCS(128), debug.SetGCPercent(100)
	defer func() { runtime.GOMAXPROCS(before); debug.SetGCPercent(percent) }()
	p := &Program{Getenv: func(string) string { return "" }}
	onAll := p.QuickStart()
	if n, percent := runtime.GOMAXPROCS(0), debug.SetGCPercent(100); n != 2 || percent != lookGCPercent {
		t.Errorf("at the start %d processors, GOGC %d", n, percent)
	}
	restore := p.StayLight()
	if n, percent := runtime.GOMAXPROCS(0), debug.SetGCPercent(100); n != 1 || percent != 35 {
		t.Errorf("%d processors, GOGC %d", n, percent)
	}
	restore()
	onAll()
	if n := runtime.GOMAXPROCS(0); n != 128 {
		t.Errorf("%d processors afterwards", n)
	}
	t.Setenv("GOMAXPROCS", "128")
	p.QuickStart()
	p.StayLight()()
	if n := runtime.GOMAXPROCS(0); n != 128 {
		t.Errorf("%d processors against the environment", n)
	}
	p.Flags.Demo = true
	debug.SetGCPercent(100)
	if p.QuickStart(); debug.SetGCPercent(100) != 100 {
		t.Error("a demo collects its garbage late")
	}
}

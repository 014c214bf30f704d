//go:build linux

package attach

import (
	"reflect"
	"runtime"
	"testing"
)

func TestParseSyscall(t *testing.T) {
	for line, want := range map[string]thread{
		"-1 0x7ffe 0x55aa\n": {call: -1, counter: 0x55aa, stack: 0x7ffe},
		"202 0x1 0x189 0x0 0x0 0x0 0xffffffff 0x7ffe 0x7f11\n": {call: 202, args: [6]uint64{1, 0x189, 0, 0, 0, 0xffffffff}, counter: 0x7f11, stack: 0x7ffe},
	} {
		if got, ok := parseSyscall(line); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
	for _, line := range []string{"running\n", "", "7 0x1 0x2\n", "-1 0x1 0x2 0x0 0x0 0x0 0x0 0x7ffe 0x1\n", "-1 0x7ffe zz\n", "-1 0x7ffe\n"} {
		if got, ok := parseSyscall(line); ok {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// TestCallsLoseHandlers: a call resets the handler of a fault's signal if the thread blocks the signal.
func TestCallsLoseHandlers(t *testing.T) {
	const segv, usr1 = 1 << 10, 1 << 9
	for want, states := range map[bool][]status{
		true:  {{blocked: segv, caught: segv}, {blocked: ^uint64(0), caught: 1 << 4}},
		false: {{}, {caught: segv}, {blocked: ^uint64(0), caught: usr1}, {blocked: usr1, caught: segv}},
	} {
		for _, s := range states {
			if got := s.losesHandler(); got != want {
				t.Errorf("blocked %x, caught %x: %v", s.blocked, s.caught, got)
			}
		}
	}
}

func TestChooseThread(t *testing.T) {
	numbers := waiting[runtime.GOARCH]
	if numbers == nil {
		t.Skip("gdb attaching is not supported on " + runtime.GOARCH)
	}
	const memory = 9999
	python := &python{text: []mapping{{start: 0x1000, end: 0x2000}}, library: []mapping{{start: 0x7000, end: 0x8000}}}
	futex := func(id int, operation uint64) thread {
		return thread{id: id, call: numbers.futex, args: [6]uint64{0, operation}, counter: 0x7000}
	}
	reading := func(id int, counter uint64) thread { return thread{id: id, call: numbers.others[0], counter: counter} }
	masked, cramped := reading(1, 0x7fff), reading(1, 0x7fff)
	masked.inside, cramped.small = true, true
	losing := masked
	losing.loses = true
	computing := func(id int, counter uint64) thread { return thread{id: id, call: -1, counter: counter} }
	for name, c := range map[string]struct {
		threads []thread
		want    int
	}{
		"none":                     {nil, 0},
		"waits for a libc lock":    {[]thread{futex(1, 128)}, 0},
		"waits for a Python lock":  {[]thread{futex(1, 128), futex(2, 0x189)}, 2},
		"in mmap":                  {[]thread{{id: 1, call: memory}}, 0},
		"computes elsewhere":       {[]thread{computing(1, 0x2000), computing(2, 0xfff)}, 0},
		"computes in Python":       {[]thread{computing(1, 0x2000), computing(2, 0x1fff)}, 2},
		"in a handler":             {[]thread{{id: 1, call: -1, counter: 0x1800, inside: true}}, 0},
		"waiting before computing": {[]thread{computing(1, 0x1800), reading(2, 0x7123)}, 2},
		"unmasked before masked":   {[]thread{masked, reading(2, 0x7123)}, 2},
		"masked if no other":       {[]thread{masked, computing(2, 0x1800)}, 1},
		"loses a handler":          {[]thread{losing, computing(2, 0x2000)}, 0},
		"of another runtime":       {[]thread{reading(1, 0x8000), reading(2, 0x1800)}, 0},
		"on a small stack":         {[]thread{cramped}, 0},
		"small stack and large":    {[]thread{cramped, reading(2, 0x7123)}, 2},
	} {
		if got, ok := choose(c.threads, python); ok != (c.want != 0) || got.id != c.want {
			t.Errorf("%s: thread %d, %v, want %d", name, got.id, ok, c.want)
		}
	}
}

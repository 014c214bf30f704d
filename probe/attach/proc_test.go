//go:build linux

package attach

import (
	"reflect"
	"testing"
)

func TestParseStatus(t *testing.T) {
	const content = "Name:\tState:\tx\nState:\tt (tracing stop)\nTracerPid:\t12\nUid:\t1\t2\t3\t4\nSigBlk:\t0000000000000001\nSigCgt:\tffffffffffffffff\nCapEff:\t0000000000080000\n"
	got, err := parseStatus(content)
	want := status{state: 't', tracer: 12, uids: [4]uint32{1, 2, 3, 4}, caps: 1 << capSysPtrace, blocked: 1, caught: 1<<64 - 1}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for _, cut := range []int{0, 40, 100, len(content) - 5} {
		if got, err := parseStatus(content[:cut]); err == nil && cut < len(content)-5 {
			t.Errorf("cut at %d: %+v", cut, got)
		}
	}
}

func TestParseMaps(t *testing.T) {
	got := parseMaps(`00400000-00401000 r--p 00000000 fe:01 123                                /usr/bin/py thon (deleted)
00401000-00500000 r-xp 00001000 fe:01 123                                /usr/bin/py thon
7fff0000-7fff1000 rw-p 00000000 00:00 0                                  [stack]
7f000000-7f001000 rw-p 00000000 00:00 0 
nonsense
zz-00 r-xp 0 0 0 /x
`)
	want := []mapping{
		{0x400000, 0x401000, 0, false, "/usr/bin/py thon"},
		{0x401000, 0x500000, 0x1000, true, "/usr/bin/py thon"},
		{0x7fff0000, 0x7fff1000, 0, false, ""},
		{0x7f000000, 0x7f001000, 0, false, ""},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestSpaceBelow(t *testing.T) {
	all := parseMaps("7f000000-7f001000 ---p 00000000 00:00 0 \n7f001000-7f021000 rw-p 00000000 00:00 0\nnonsense\n\n")
	for pointer, want := range map[uint64]uint64{0x7f001000: 0, 0x7f020ff0: 0x1fff0, 0x7f021000: 0, 0: 0} {
		if got := spaceBelow(all, pointer); got != want {
			t.Errorf("%#x: %#x, want %#x", pointer, got, want)
		}
	}
}

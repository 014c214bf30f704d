//go:build linux

package attach

import (
	"strings"
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

func FuzzProc(f *testing.F) {
	f.Add("-1 0x7ffe 0x55aa")
	f.Add("00400000-00401000 r-xp 00000000 fe:01 123 /x (deleted)\n")
	f.Add("State:\tt\nTracerPid:\t12\nUid:\t1\t2\t3\t4\nSigBlk:\t0\nSigCgt:\tf\nCapEff:\t0\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got, ok := parseSyscall(text); ok && got.call < -1 {
			t.Errorf("%q: %+v", text, got)
		}
		for _, m := range parseMaps(text) {
			if m.end < m.start || m.path != "" && !strings.HasPrefix(m.path, "/") {
				t.Errorf("%q: %+v", text, m)
			}
		}
		if s, err := parseStatus(text); err == nil && s.state == 0 {
			t.Errorf("%q: %+v", text, s)
		}
		if line := instead(strings.Fields(text)); strings.ContainsAny(line, ";|&$`'\"\n") {
			t.Errorf("%q: %q", text, line)
		}
	})
}

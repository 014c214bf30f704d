//go:build linux

package attach

import "testing"

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

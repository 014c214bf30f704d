package needs

import (
	"fmt"
	"testing"
)

// ended is a TB that notes how a test ended.
type ended struct{ skipped, failed string }

func (*ended) Helper()                          {}
func (*ended) TempDir() string                  { return "" }
func (e *ended) Skipf(format string, a ...any)  { e.skipped = fmt.Sprintf(format, a...) }
func (e *ended) Fatalf(format string, a ...any) { e.failed = fmt.Sprintf(format, a...) }

func TestMissingToolSkipsAndInCIFails(t *testing.T) {
	for _, c := range []struct {
		ci   string
		want ended
	}{
		{"", ended{skipped: "there is no vramscope-nothing"}},
		{"1", ended{failed: "missing, though .ci/run installs it: there is no vramscope-nothing"}},
	} {
		t.Setenv("VRAMSCOPE_CI", c.ci)
		var got ended
		if Tool(&got, "vramscope-nothing"); got != c.want {
			t.Errorf("with VRAMSCOPE_CI=%q: %+v", c.ci, got)
		}
	}
	var got ended
	if path := Tool(&got, "go"); path == "" || got != (ended{}) {
		t.Errorf("go is at %q: %+v", path, got)
	}
}

func TestVramscopeBuiltBefore(t *testing.T) {
	t.Setenv("VRAMSCOPE_BUILT", "/built/vramscope")
	var got ended
	if path := Vramscope(&got); path != "/built/vramscope" || got != (ended{}) {
		t.Errorf("it is %q: %+v", path, got)
	}
}

func TestFullSkipsLongTests(t *testing.T) {
	for set, want := range map[string]ended{"": {skipped: "long: .ci/run --full runs it"}, "1": {}} {
		t.Setenv("VRAMSCOPE_FULL", set)
		var got ended
		if Full(&got); got != want {
			t.Errorf("with VRAMSCOPE_FULL=%q: %+v", set, got)
		}
	}
}

package restart

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"vramscope/cli/command"
	"vramscope/daemon"
	"vramscope/guard"
	"vramscope/nvml"
	"vramscope/sampler"
)

// refusing is a driver that never opens.
type refusing struct{ sampler.DeviceReader }

func (refusing) Open() (nvml.Driver, []nvml.Device, error) {
	return nvml.Driver{}, nil, nvml.ErrVersionMismatch
}

type always bool

func (a always) NeedsRestart(error) bool { return bool(a) }

func TestRestartIsNotRepeatedAtOnce(t *testing.T) {
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		needs always
		since time.Time
		want  bool
	}{
		{"started", true, time.Time{}, true},
		{"another error", false, time.Time{}, false},
		{"just restarted", true, noon.Add(-time.Second), false},
		{"restarted a while ago", true, noon.Add(-pause), true},
		{"restarted before the clock was set back", true, noon.Add(time.Hour), true},
	} {
		acted := false
		w := &upgradeWatch{DeviceReader: refusing{}, library: c.needs, since: c.since,
			now: func() time.Time { return noon }, act: func() { acted = true }}
		if _, _, err := w.Open(); !errors.Is(err, nvml.ErrVersionMismatch) || acted != c.want {
			t.Errorf("%s: acted %v, want %v; %v", c.name, acted, c.want, err)
		}
	}
}

func TestHandover(t *testing.T) {
	pipe, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = pipe.Close(), w.Close() }()
	for value, want := range map[string]bool{
		"":                  false,
		"nonsense":          false,
		"7":                 false,
		"x 1790000000":      true, // without a guard's state, as in all cases below
		"- 1790000000":      true,
		"-1 1790000000 why": true,
		"100000 1790000000": true,
		"- soon":            false,
		strconv.Itoa(int(pipe.Fd())) + " 1790000000": true,
	} {
		p := &command.Program{Getenv: func(string) string { return value }}
		h := Previous(p)
		if (h != nil) != want || h != nil && (h.Kept != nil || h.At.Unix() != 1790000000) {
			t.Errorf("%q gives %+v", value, h)
		}
	}
	kept := guard.Kept{Paused: time.Unix(1790000009, 0), Actions: []guard.KeptAction{{Time: time.Unix(1790000001, 0), User: 1000}}}
	file, err := writeKept(&kept)
	if err != nil {
		t.Skipf("no file in memory to be had here: %v", err)
	}
	fd, err := syscall.Dup(int(file.Fd())) // the handover closes it
	if err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	p := &command.Program{Getenv: func(string) string { return strconv.Itoa(fd) + " 1790000000 the configuration is read anew" }}
	h := Previous(p)
	if h == nil || h.Kept == nil || !h.Kept.Paused.Equal(kept.Paused) || len(h.Kept.Actions) != 1 || h.why != daemon.ErrReload.Error() {
		t.Errorf("handed over: %+v", h)
	}
}

// TestFailedRestartNamesItsReason: the error names an upgrade or a new configuration.
func TestFailedRestartNamesItsReason(t *testing.T) {
	p := &command.Program{Now: time.Now}
	for _, why := range []error{ErrUpgraded, daemon.ErrReload} {
		t.Setenv("VRAMSCOPE_TEST", strings.Repeat("x", 1<<17)) // execve takes no variable this long
		if err := Now(p, why, nil); err == nil || !strings.HasPrefix(err.Error(), why.Error()+", but vramscope could not restart itself for it: ") {
			t.Errorf("%v: %v", why, err)
		}
	}
}

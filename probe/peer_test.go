package probe

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"vramscope/internal/needs"
	"vramscope/internal/process"
)

func TestParseOwner(t *testing.T) {
	const status = "Name:\tpython\nUmask:\t0022\nTgid:\t41\nUid:\t0\t1000\t1000\t1000\nGid:\t0\t0\t0\t0\nNStgid:\t41\t7\nNSpid:\t41\t7\nVmRSS:\t1 kB\n"
	if who, err := parseOwner([]byte(status)); err != nil || who != (owner{uid: 1000, nspid: 7}) {
		t.Errorf("%+v, %v", who, err)
	}
	// The fields of a file that ends early are unknown: 0 would be root.
	for end := range len(status) - len("VmRSS:\t1 kB\n") {
		if who, err := parseOwner([]byte(status[:end])); err == nil {
			t.Errorf("%q gives %+v", status[:end], who)
		}
	}
	for _, broken := range []string{"", "\nUid:\t1\t-1\t1\t1\nNSpid:\t1\n", "\nUid:\t1\t99999999999\t1\t1\nNSpid:\t1\n", "\nUid:\t1\nNSpid:\t1\n"} {
		if who, err := parseOwner([]byte(broken)); err == nil {
			t.Errorf("%q gives %+v", broken, who)
		}
	}
}

// TestLateProbeInADirectoryThatAnEnvironmentNames: the probe is searched for again by the pid,
// because its directory is not among those that the monitor lists.
func TestLateProbeInADirectoryThatAnEnvironmentNames(t *testing.T) {
	base := t.TempDir()
	runtime := filepath.Join(base, "runtime")
	if err := os.Mkdir(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	c := spawn(t, "serve", filepath.Join(runtime, directoryName))
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/"+strconv.Itoa(os.Geteuid()))
	if err := os.Rename(runtime, filepath.Join(base, "away")); err != nil {
		t.Fatal(err)
	}
	m := NewMonitor(NewFinder(process.NewTable("/proc")), nil, nil)
	m.interval = 20 * time.Millisecond
	run(t, m)
	m.Listed("GPU-1", []int{c.pid()})
	attempt := target{pid: c.pid()}
	eventually(t, "it is searched", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		a := m.attempts[attempt]
		return a != nil && errors.Is(a.err, ErrNoProbe) && !a.busy
	})
	if err := os.Rename(filepath.Join(base, "away"), runtime); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it answers", func() bool { return answers(m, c.pid()) })
}

// TestLateProbeInAContainer: the probe of a process is searched for again if there was none.
func TestLateProbeInAContainer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a new mount namespace is root's")
	}
	needs.Tool(t, "unshare")
	needs.Tool(t, "mount")
	base := t.TempDir()
	runtime, away := filepath.Join(base, "runtime"), filepath.Join(base, "away")
	if err := os.Mkdir(runtime, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	c, err := trySpawn(t, "serve", filepath.Join(runtime, directoryName), nil,
		"unshare", "-m", "sh", "-c", `mount -t tmpfs none /run && mkdir -p /run/user/0 && exec "$0"`)
	if err != nil {
		t.Skipf("this machine does not permit mounting: %v", err)
	}
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/0")
	if err := os.Rename(runtime, away); err != nil {
		t.Fatal(err)
	}
	m := NewMonitor(NewFinder(process.NewTable("/proc")), nil, nil)
	m.listed["GPU-1"] = []int{c.pid()}
	a := m.attemptOn(target{pid: c.pid()})
	search := func() {
		m.mu.Lock()
		a.notBefore = time.Time{}
		m.searchListed(t.Context())
		m.mu.Unlock()
		eventually(t, "it is searched", func() bool {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.searching == 0
		})
	}
	if search(); !errors.Is(a.err, ErrNoProbe) || a.failures != 1 {
		t.Errorf("%v after %d failures", a.err, a.failures)
	}
	if err := os.Rename(away, runtime); err != nil {
		t.Fatal(err)
	}
	if search(); a.err != nil || a.probe == nil {
		t.Errorf("its probe is not found: %v", a.err)
	}
}

package probe

import (
	"errors"
	"os"
	"os/exec"
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

// sleeper starts a process that sleeps, once it has said that it is ready.
func sleeper(t *testing.T, environ []string, command ...string) (pid int, ok bool) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), environ...)
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		t.Fatal("it does not start", command)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it sleeps
		_ = cmd.Wait()         // it was killed
	})
	_, err = out.Read(make([]byte, 16))
	return cmd.Process.Pid, err == nil
}

// TestOnlyWhatIsNotListedIsSearched: list reads the directories in which most processes
// would serve. The others are searched one by one.
func TestOnlyWhatIsNotListedIsSearched(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/"+strconv.Itoa(os.Geteuid()))
	m := NewMonitor(NewFinder(process.NewTable("/proc")), MonitorOptions{})
	const sleep = "echo ready; kill -STOP $$" // no exec, during which a process has no environment
	for name, c := range map[string]struct {
		environ []string
		command []string
		root    bool // the case is root's
		want    bool
	}{
		"an ordinary process":           {command: []string{"sh", "-c", sleep}, want: true},
		"another runtime directory":     {environ: []string{"XDG_RUNTIME_DIR=" + t.TempDir()}, command: []string{"sh", "-c", sleep}},
		"no absolute runtime directory": {environ: []string{"XDG_RUNTIME_DIR=here"}, command: []string{"sh", "-c", sleep}, want: true},
		"another user's":                {environ: []string{"XDG_RUNTIME_DIR=/run/user/12345"}, command: []string{"sh", "-c", sleep}, root: true, want: true},
		"another mount namespace":       {command: []string{"unshare", "-m", "sh", "-c", sleep}, root: true},
		"another user namespace":        {command: []string{"unshare", "-U", "sh", "-c", sleep}, root: true},
		"another root directory":        {command: []string{"python3", "-c", "import os, time; os.chroot('/proc'); print('ready', flush=True); time.sleep(1000)"}, root: true},
	} {
		t.Run(name, func(t *testing.T) {
			needs.Tool(t, c.command[0])
			if c.root && os.Geteuid() != 0 {
				t.Skip("a case of root's")
			}
			pid, ok := sleeper(t, c.environ, c.command...)
			if !ok {
				t.Skip("this machine does not permit it")
			}
			if got := m.isListed(pid); got != c.want {
				t.Errorf("it is listed: %v, want %v", got, c.want)
			}
		})
	}
	m.wider = false
	if pid, _ := sleeper(t, nil, "sh", "-c", sleep); m.isListed(pid) {
		t.Error("only some directories are listed, and yet it is not searched")
	}
}

// TestTruncatedListingIsSearched: what was left to a listing is searched once that has
// more names than are considered.
func TestTruncatedListingIsSearched(t *testing.T) {
	m := NewMonitor(NewFinder(process.NewTable("/proc")), MonitorOptions{})
	dir, own := privateDirectory(t), target{pid: os.Getpid()}
	m.attempts[own] = &attempt{}
	m.attempts[own].fail(errListed, listedTime)
	m.listed["GPU-1"] = []int{os.Getpid()}
	search := func() error {
		m.mu.Lock()
		m.searchListed(t.Context())
		m.mu.Unlock()
		m.running.Wait()
		return m.attempts[own].err
	}
	if err := search(); !errors.Is(err, errListed) {
		t.Errorf("it is searched though it is listed: %v", err)
	}
	fillDirectory(t, dir, "4711-", maxNames+1)
	m.dirty = false
	m.list(t.Context(), dir, func() uint32 { return uint32(os.Geteuid()) })
	m.running.Wait()
	if !m.dirty {
		t.Error("no scan follows")
	}
	if err := search(); errors.Is(err, errListed) {
		t.Errorf("it is not searched: %v", err)
	}
}

// TestLateProbeInADirectoryThatAnEnvironmentNames: it is searched for again, since no
// directory that is listed has it.
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
	m := NewMonitor(NewFinder(process.NewTable("/proc")), MonitorOptions{})
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

// TestLateProbeInAContainer: a process without a probe is searched whole at times, and in
// between only whether one of the directories has come where it would serve.
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
	m := NewMonitor(NewFinder(process.NewTable("/proc")), MonitorOptions{})
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
	search()
	whole := a.searched.Add(stampPrecision) // when directories that have just changed are settled
	a.searched = whole
	if search(); !errors.Is(a.err, ErrNoProbe) || a.failures != 2 || a.searched != whole {
		t.Errorf("%v after %d failures, searched whole again %v", a.err, a.failures, a.searched != whole)
	}
	if err := os.Rename(away, runtime); err != nil {
		t.Fatal(err)
	}
	if search(); a.err != nil || a.probe == nil {
		t.Errorf("its probe is not found: %v", a.err)
	}
}

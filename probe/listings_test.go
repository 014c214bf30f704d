package probe

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/needs"
	"vramscope/internal/process"
)

// listed is what the listings have of a directory.
func listed(t *testing.T, l *listings, path string) []string {
	t.Helper()
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	return slices.Sorted(slices.Values(l.in(dir)))
}

// A directory is listed once while it is unchanged, and once a second while it changes:
// a box may have a thousand processes, and a /tmp that is always in use.
func TestListingIsReadOnceASecond(t *testing.T) {
	path := t.TempDir()
	var l listings
	add := func(name string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(path, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	later := func(by time.Duration) {
		for at, known := range l.known {
			known.listed = known.listed.Add(-by)
			l.known[at] = known
		}
	}
	add("other")
	add("vramscope-1-a")
	if got := listed(t, &l, path); !slices.Equal(got, []string{"vramscope-1-a"}) {
		t.Errorf("a new directory: %v", got)
	}
	add("vramscope-1-b")
	if got := listed(t, &l, path); !slices.Equal(got, []string{"vramscope-1-a"}) {
		t.Errorf("within a second: %v", got)
	}
	later(listInterval)
	if got := listed(t, &l, path); !slices.Equal(got, []string{"vramscope-1-a", "vramscope-1-b"}) {
		t.Errorf("after a second: %v", got)
	}
	// It may have changed again within the tick of the clock in which it was listed.
	add("vramscope-1-c")
	later(listInterval)
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	at := place{st.Dev, st.Ino}
	known := l.known[at]
	known.changed = time.Unix(st.Ctim.Unix())
	l.known[at] = known
	if got := listed(t, &l, path); len(got) != 3 {
		t.Errorf("changed as it was listed: %v", got)
	}
	if err := unix.Stat("/", &st); err != nil {
		t.Fatal(err)
	}
	old := time.Unix(st.Ctim.Unix())
	l.known[place{st.Dev, st.Ino}] = names{old, []string{"remembered"}, old.Add(time.Minute)}
	if got := listed(t, &l, "/"); !slices.Equal(got, []string{"remembered"}) {
		t.Errorf("unchanged since: %v", got)
	}
}

// A process in another mount namespace serves where this program lists all the same,
// if the directories are the same: a hardened service has a namespace of its own.
func TestSharesMounts(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a new mount namespace is root's")
	}
	needs.Tool(t, "unshare")
	needs.Tool(t, "mount")
	if out, err := exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt").CombinedOutput(); err != nil {
		t.Skipf("this machine does not permit mounting: %s", out)
	}
	f := NewFinder(nil)
	for script, want := range map[string]bool{
		"echo ready; exec sleep 1000":                           true,
		"mount -t tmpfs none /tmp; echo ready; exec sleep 1000": false,
	} {
		cmd := exec.Command("unshare", "-m", "sh", "-c", script)
		out, err := cmd.StdoutPipe()
		if err != nil || cmd.Start() != nil {
			t.Fatal("unshare does not start")
		}
		if _, err := out.Read(make([]byte, 16)); err != nil {
			t.Fatal(err)
		}
		s := sought{id: process.Identity{PID: cmd.Process.Pid}, inner: innerUID("/proc", cmd.Process.Pid, 0)}
		if got := f.sharesMounts(s); got != want {
			t.Errorf("%s: %v, want %v", script, got, want)
		}
		_ = cmd.Process.Kill() // it sleeps
		_ = cmd.Wait()         // it was killed
	}
}

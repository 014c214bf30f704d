//go:build linux

package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fillDirectory makes empty files with the names prefix0, prefix1 and so on.
func fillDirectory(t testing.TB, dir, prefix string, names int) {
	t.Helper()
	for i := range names {
		if err := unix.Mknod(filepath.Join(dir, prefix+strconv.Itoa(i)+".sock"), unix.S_IFREG|0o600, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// refreshed opens a directory and refreshes a listing of it.
func refreshed(t *testing.T, old listing, path string) listing {
	t.Helper()
	dir, err := openDirectory("/", path, uint32(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.close()
	l, err := old.refresh(dir)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func privateDirectory(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), directoryName)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestUnchangedDirectoryIsNotReadAgain(t *testing.T) {
	dir := privateDirectory(t)
	fillDirectory(t, dir, "1-", 1)
	first := refreshed(t, listing{}, dir)
	if !slices.Equal(first.names, []string{"1-0.sock"}) || first.truncated {
		t.Fatalf("first listing: %+v", first)
	}
	remembered := first
	remembered.names = []string{"remembered"}
	if now := refreshed(t, remembered, dir); !slices.Equal(now.names, first.names) {
		t.Errorf("just changed, and not read again: %v", now.names)
	}
	remembered.at = first.at.Add(stampPrecision + time.Second)
	if now := refreshed(t, remembered, dir); !slices.Equal(now.names, remembered.names) {
		t.Errorf("unchanged, and read again: %v", now.names)
	}
	fillDirectory(t, dir, "2-", 1)
	now := refreshed(t, remembered, dir)
	if slices.Sort(now.names); !slices.Equal(now.names, []string{"1-0.sock", "2-0.sock"}) {
		t.Errorf("after another name: %v", now.names)
	}
}

func TestOldListingIsNotCurrent(t *testing.T) {
	s := stamp{inode: 1, changed: time.Now().Add(-time.Hour)}
	for age, want := range map[time.Duration]bool{relistTime / 2: true, relistTime + time.Second: false} {
		l := listing{stamp: s, at: time.Now().Add(-age)}
		if l.current(s) != want {
			t.Errorf("a listing %v old of an unchanged directory: current is %v, want %v", age, !want, want)
		}
	}
}

func TestListingOfLargeDirectoryIsBounded(t *testing.T) {
	dir := privateDirectory(t)
	fillDirectory(t, dir, "file", maxNamesRead+2000)
	d, err := openDirectory("/", dir, uint32(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	names, more, err := d.sockets(maxNames)
	if err != nil || !more || len(names) != 0 {
		t.Errorf("%d sockets, more %v, %v; want none, and more", len(names), more, err)
	}
	if rest, err := d.file.Readdirnames(-1); err != nil || len(rest) < 1000 {
		t.Errorf("%d names were left unread, %v", len(rest), err)
	}
}

func TestProbeBehindTooManyNamesIsFoundByPID(t *testing.T) {
	runtime := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	dir := filepath.Join(runtime, directoryName)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	fillDirectory(t, dir, "4711-", maxNames+100)
	c := spawn(t, "serve", dir)
	m := watch(t, dir)
	m.Settle(soon(t))
	m.mu.Lock()
	truncated := m.attempts[target{directory: dir}].listing.truncated
	m.mu.Unlock()
	if !truncated {
		t.Error("the listing is not truncated")
	}
	m.Listed("GPU-1", []int{c.pid()})
	eventually(t, "the probe answers", func() bool { return answers(m, c.pid()) })
}

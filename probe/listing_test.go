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

// fillDirectory makes empty files with the names prefix0.sock, prefix1.sock and so on.
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
	dir, err := openDirectory(path, uint32(os.Geteuid()))
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
	if !slices.Equal(first.names, []string{"1-0.sock"}) {
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
	s := stamp{place: place{inode: 1}, changed: time.Now().Add(-time.Hour)}
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
	d, err := openDirectory(dir, uint32(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	names, err := d.sockets()
	if err != nil || len(names) != 0 {
		t.Errorf("%d sockets, %v; want none", len(names), err)
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
	listed := len(m.attempts[target{directory: dir}].listing.names)
	m.mu.Unlock()
	if listed != maxNames {
		t.Errorf("%d names are listed", listed)
	}
	m.Listed("GPU-1", []int{c.pid()})
	eventually(t, "the probe answers", func() bool { return answers(m, c.pid()) })
}

// listed returns the names that the listings have for a directory.
func listed(t *testing.T, l *listings, path string) []string {
	t.Helper()
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	return slices.Sorted(slices.Values(l.in(dir)))
}

// A directory that changes is listed once a second, and an unchanged one is not listed again then,
// because a box may have a thousand processes and a /tmp that is always in use.
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
			known.at = known.at.Add(-by)
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
	// The directory may have changed again within the tick of the clock in which it was listed.
	add("vramscope-1-c")
	later(listInterval)
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	at := place{st.Dev, st.Ino}
	known := l.known[at]
	known.stamp = stampOf(&st)
	l.known[at] = known
	if got := listed(t, &l, path); len(got) != 3 {
		t.Errorf("changed as it was listed: %v", got)
	}
	if err := unix.Stat("/", &st); err != nil {
		t.Fatal(err)
	}
	l.known[place{st.Dev, st.Ino}] = listing{stamp: stampOf(&st), at: time.Now().Add(-2 * listInterval), names: []string{"remembered"}}
	if got := listed(t, &l, "/"); !slices.Equal(got, []string{"remembered"}) {
		t.Errorf("unchanged since: %v", got)
	}
}

package probe

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestListingIsReadOnceUntilItChanges: what was remembered is used while the
// directory is unchanged, and no name is missed.
func TestListingIsReadOnceUntilItChanges(t *testing.T) {
	path := t.TempDir()
	var l listings
	in := func() []string {
		t.Helper()
		dir, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = dir.Close() }()
		found := l.in(dir)
		slices.Sort(found)
		return found
	}
	add := func(name string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(path, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	add("other")
	add("vramscope-1-a")
	if got := in(); !slices.Equal(got, []string{"vramscope-1-a"}) || len(l.known) != 0 {
		t.Errorf("a directory that has just changed: %v, %v", got, l.known)
	}
	// Its change was long ago, as far as the listings know.
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	l.known = map[place]names{{st.Dev, st.Ino}: {time.Unix(st.Ctim.Unix()), []string{"remembered"}}}
	if got := in(); !slices.Equal(got, []string{"remembered"}) {
		t.Errorf("unchanged: %v", got)
	}
	time.Sleep(20 * time.Millisecond) // the kernel's clock has ticked
	add("vramscope-1-b")
	if got := in(); !slices.Equal(got, []string{"vramscope-1-a", "vramscope-1-b"}) {
		t.Errorf("changed: %v", got)
	}
}

package socket

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestSocketComesBackAfterItsNameVanished: the sockets are made again if one of them, or their
// directory, is gone. Otherwise they stay. Only its owner can read the new directory.
func TestSocketComesBackAfterItsNameVanished(t *testing.T) {
	directory, s := serve(t, newBox(), mustShare(t, "none"))
	before := s.bound
	if s.rebind(); s.bound != before {
		t.Error("what is there is replaced")
	}
	for _, gone := range []string{filepath.Join(directory, Name), filepath.Join(directory, OwnName), directory} {
		if err := os.RemoveAll(gone); err != nil {
			t.Fatal(err)
		}
		s.rebind()
		if client, err := Dial(t.Context(), []Place{{directory, uint32(os.Geteuid())}}); err != nil {
			t.Errorf("without %s: %v", gone, err)
		} else {
			_ = client.Close()
		}
		for _, name := range []string{Name, OwnName} {
			if _, err := os.Lstat(filepath.Join(directory, name)); err != nil {
				t.Errorf("without %s: %v", gone, err)
			}
		}
	}
	if info, err := os.Stat(directory); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the new directory: %v, %v", info, err)
	}
}

// TestSocketBelongsToItsShare: the socket has the mode and the group of its share. A share without a
// group leaves the socket the group of its setgid directory.
func TestSocketBelongsToItsShare(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be in several groups")
	}
	const group = 4242
	for value, want := range map[string]unix.Stat_t{"none": {Mode: 0o600, Gid: group}, "all": {Mode: 0o666, Gid: group}, "group:root": {Mode: 0o660}} {
		directory := t.TempDir()
		if err := errors.Join(os.Lchown(directory, 0, group), os.Chmod(directory, 0o755|os.ModeSetgid)); err != nil {
			t.Fatal(err)
		}
		b, err := listen(directory, mustShare(t, value))
		if err != nil {
			t.Fatal(err)
		}
		defer b.close()
		for name, want := range map[string]unix.Stat_t{Name: want, OwnName: {Mode: 0o600, Gid: group}} {
			var st unix.Stat_t
			if err := unix.Lstat(filepath.Join(directory, name), &st); err != nil || st.Mode&0o777 != want.Mode || st.Uid != 0 || st.Gid != want.Gid {
				t.Errorf("%s, shared with %s: mode %o, %d:%d, %v", name, value, st.Mode, st.Uid, st.Gid, err)
			}
		}
	}
}

// TestFloodKeepsNobodyOut: while a user connects without end, the owner is answered as usual, and
// another user nearly always.
func TestFloodKeepsNobodyOut(t *testing.T) {
	directory, _ := serve(t, newBox(), mustShare(t, "all"))
	times, tries := 20_000, 100
	if n, _ := strconv.Atoi(os.Getenv("VRAMSCOPE_FLOOD")); n > 0 {
		times, tries = n, 1000
	}
	if as(t, alice, alice, directory, "", "VRAMSCOPE_TEST_FLOOD=1") == "" { // this also copies the client's program
		t.Fatal("no flood")
	}
	running := make(chan string, 1)
	began := time.Now()
	go func() {
		running <- as(t, alice+1, alice+1, directory, "", "VRAMSCOPE_TEST_FLOOD="+strconv.Itoa(times))
	}()
	owner := answered(Place{directory, uint32(os.Geteuid())}, tries)
	owned := time.Since(began)
	other, _ := strconv.Atoi(strings.TrimSpace(as(t, alice, alice, directory, "", "VRAMSCOPE_TEST_TRIES="+strconv.Itoa(tries), "VRAMSCOPE_TEST_DIAL="+strconv.Itoa(os.Geteuid()))))
	others := time.Since(began)
	got := strings.TrimSpace(<-running)
	t.Logf("of %d tries: the owner's %d (%s), another user's %d (%s); the flood's %d had %s in %s", tries, owner, owned, other, others, times, got, time.Since(began))
	if owner < tries*99/100 {
		t.Errorf("of the owner's %d tries %d are answered", tries, owner)
	}
	if other < tries*9/10 {
		t.Errorf("of another user's %d tries %d are answered", tries, other)
	}
}

// TestOwnersSocketIsTheirsAlone: the kernel lets no other user connect.
func TestOwnersSocketIsTheirsAlone(t *testing.T) {
	directory, _ := serve(t, newBox(), mustShare(t, "all"))
	info, err := os.Stat(filepath.Join(directory, OwnName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	// A daemon of an older version has no owner's socket.
	if err := os.Remove(filepath.Join(directory, OwnName)); err != nil {
		t.Fatal(err)
	}
	if n := answered(Place{directory, uint32(os.Geteuid())}, 1); n != 1 {
		t.Error("the owner does not use the other socket")
	}
}

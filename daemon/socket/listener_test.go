package socket

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestSocketComesBackAfterItsDirectoryVanished(t *testing.T) {
	directory, s := serve(t, newBox(), mustShare(t, "none"))
	if err := os.Remove(filepath.Join(directory, Name)); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	gone := !s.bound.there()
	err := s.rebind()
	s.mu.Unlock()
	if !gone || err != nil {
		t.Fatalf("%t, %v", gone, err)
	}
	client, err := Dial(t.Context(), []Place{{directory, uint32(os.Geteuid())}})
	if err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
}

// TestFloodKeepsNobodyOut: while a user connects without end, the owner is answered as
// if there were nobody, and another user nearly always.
func TestFloodKeepsNobodyOut(t *testing.T) {
	directory, _ := serve(t, newBox(), mustShare(t, "all"))
	times, tries := 20_000, 100
	if n, _ := strconv.Atoi(os.Getenv("VRAMSCOPE_FLOOD")); n > 0 {
		times, tries = n, 1000
	}
	if as(t, alice, alice, directory, "", "VRAMSCOPE_TEST_FLOOD=1") == "" { // it makes the client's program, too
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

// TestOwnersSocketIsTheirsAlone: the kernel lets nobody else connect.
func TestOwnersSocketIsTheirsAlone(t *testing.T) {
	directory, _ := serve(t, newBox(), mustShare(t, "all"))
	info, err := os.Stat(filepath.Join(directory, OwnName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	// A daemon of an older version has none.
	if err := os.Remove(filepath.Join(directory, OwnName)); err != nil {
		t.Fatal(err)
	}
	if n := answered(Place{directory, uint32(os.Geteuid())}, 1); n != 1 {
		t.Error("the owner does not use the other socket")
	}
}

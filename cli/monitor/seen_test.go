package monitor

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestSeenIsKept: what two screens have seen is kept for a day, and a broken file counts as empty.
func TestSeenIsKept(t *testing.T) {
	directory, now := filepath.Join(t.TempDir(), "vramscope"), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	keep := func(seen map[string]time.Time, now time.Time) {
		t.Helper()
		if err := keepSeen(directory, seen, now); err != nil {
			t.Fatal(err)
		}
	}
	keep(map[string]time.Time{"one": now}, now)
	keep(map[string]time.Time{"two": now.Add(time.Hour), "one": now.Add(-time.Hour)}, now.Add(time.Hour))
	if got, want := readSeen(directory), map[string]time.Time{"one": now, "two": now.Add(time.Hour)}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	keep(nil, now.Add(24*time.Hour+time.Minute))
	if got := readSeen(directory); len(got) != 1 {
		t.Errorf("after a day: %v", got)
	}
	if info, err := os.Stat(filepath.Join(directory, seenFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v (%v): command lines are in no user's but its own", info, err)
	}
	for _, broken := range []string{"null", "{", `{"one": 3}`} {
		if err := os.WriteFile(filepath.Join(directory, seenFile), []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := readSeen(directory); got == nil || len(got) != 0 {
			t.Errorf("%s: %v", broken, got)
		}
	}
}

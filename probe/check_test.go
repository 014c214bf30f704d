package probe

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"vramscope/internal/quantity"
)

func TestCheckCutsTextsAndLists(t *testing.T) {
	long := strings.Repeat("ä", maxText)
	a := Allocator{Kind: "raw", Config: long}
	for range 100 {
		a.Pools = append(a.Pools, Pool{Name: long})
		a.Largest = append(a.Largest, Allocation{Bytes: quantity.MiB, API: long, Library: long})
	}
	if err := a.check(); err != nil {
		t.Fatal(err)
	}
	if len(a.Pools) != maxPools || len(a.Largest) != maxLargest {
		t.Errorf("%d pools and %d allocations remain", len(a.Pools), len(a.Largest))
	}
	for _, text := range []string{a.Config, a.Pools[7].Name, a.Largest[7].API, a.Largest[7].Library} {
		if text != strings.Repeat("ä", maxText/2) {
			t.Errorf("cut to %q", text)
		}
	}
	h := Hello{Proto: Version, PID: 1, StartTime: 2, StartedBy: long}
	if err := h.check(1, 2); err != nil || len(h.StartedBy) > maxText {
		t.Errorf("started by %d bytes, %v", len(h.StartedBy), err)
	}
}

func TestCheckDropsImpossibleCacheSize(t *testing.T) {
	below, most, beyond := quantity.Bytes(-1), maxBytes, maxBytes+1
	h := Hello{Proto: Version, PID: 1, StartTime: 2, Evictable: []Evictable{{Bytes: &below}, {Bytes: &most}, {Bytes: &beyond}, {}}}
	if err := h.check(1, 2); err != nil {
		t.Fatal(err)
	}
	for i, kept := range []bool{false, true, false, false} {
		if got := h.Evictable[i].Bytes; (got != nil) != kept {
			t.Errorf("cache %d: size %v, want it kept: %v", i, got, kept)
		}
	}
}

func TestResultsAreChecked(t *testing.T) {
	notes := make([]string, 100)
	flush, snapshot := FlushResult{Notes: notes}, SnapshotResult{Notes: notes}
	if err := flush.check(); err != nil || len(flush.Notes) != maxNotes {
		t.Errorf("a flush with %d notes, %v", len(flush.Notes), err)
	}
	if err := snapshot.check(1); err != nil || len(snapshot.Notes) != maxNotes {
		t.Errorf("a snapshot with %d notes, %v", len(snapshot.Notes), err)
	}
	for _, ms := range []float64{-1, 1e10} {
		flush.Milliseconds, snapshot.Milliseconds = ms, ms
		if flush.check() == nil || snapshot.check(1) == nil {
			t.Errorf("%g ms is accepted", ms)
		}
	}
}

func TestCheckTime(t *testing.T) {
	start, err := startTime(procfs.Self())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, c := range []struct {
		off  time.Duration
		want string
	}{
		{0, ""}, {-9 * time.Second, ""}, {9 * time.Second, ""}, {11 * time.Second, "11s in the future"}, {1 << 62, "in the future"},
		{-24 * time.Hour, "before the process started"}, {-1 << 60, "before the process started"},
	} {
		err := checkTime(now, now.UnixNano()+int64(c.off), start)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.off, err, c.want)
		}
	}
	if err := checkTime(now, 1, start); err == nil {
		t.Error("1970 passes")
	}
	if err := checkTime(now, math.MaxInt64, start); err == nil {
		t.Error("the year 2262 passes")
	}
}

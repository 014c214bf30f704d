package recording

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"vramscope/sampler/snapshot"
)

// days records some ticks on each of n days, and returns the databases that are left.
func (q *quiet) days(n, ticks int) []string {
	q.t.Helper()
	for range n {
		q.record(ticks)
		q.now = q.now.Add(24 * time.Hour)
	}
	paths, err := days(q.w.directory)
	if err != nil {
		q.t.Fatal(err)
	}
	return paths
}

func TestOldDaysAreRemoved(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	q := newQuiet(t, t.TempDir(), Options{Keep: 3 * 24 * time.Hour})
	aside, mine := filepath.Join(q.w.directory, "2026-10-01-damaged-2.db"), filepath.Join(q.w.directory, "2026-10-01-mine.db")
	for _, path := range []string{aside, mine} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	paths := q.days(10, 2)
	if _, err := os.Stat(aside); err == nil {
		t.Error("a damaged day that was set aside stays")
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error("a file that is not the recorder's is removed")
	}
	// The last tick was on day 10, so days 7, 8 and 9 are at most 3 days old.
	if len(paths) != 4 || filepath.Base(paths[0]) != "2026-10-07.db" {
		t.Errorf("kept %v", paths)
	}
	if oldest, _ := q.end().Span(); oldest.UTC().Day() != 7 {
		t.Errorf("the recording begins at %v", oldest)
	}
}

// A daemon reads for months, and must not keep removed days and sealed tails in memory.
func TestRemovedDaysAreClosed(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	q.days(2, 2)
	q.record(2)
	q.w.commit()
	r := read(t, q.w.directory)
	paths := r.all()
	at := func() bool { _, ok := r.At(q.now); return ok }
	if !at() || r.open[paths[2]].tail.block == nil {
		t.Fatal("the tail is not read")
	}
	for _, path := range paths {
		if _, err := r.day(path); err != nil {
			t.Fatal(err)
		}
	}
	q.end()
	if !at() || r.open[paths[2]].tail.block != nil {
		t.Error("the sealed tail stays in memory")
	}
	if err := remove(paths[0]); err != nil {
		t.Fatal(err)
	}
	if _, _ = r.Span(); len(r.open) != 2 || r.open[paths[0]] != nil {
		t.Errorf("%d days are open, want 2", len(r.open))
	}
	if problems := r.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestTooLargeDaysAreRemoved(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	q := newQuiet(t, t.TempDir(), Options{MaxSize: 1 << 20})
	paths := q.days(10, 150)
	if size := sizeOf(paths...); len(paths) >= 10 || len(paths) < 2 || size > 3<<20 {
		t.Errorf("%d days of %d bytes: %v", len(paths), size, paths)
	}
	if last := filepath.Base(paths[len(paths)-1]); last != "2026-10-10.db" {
		t.Errorf("the newest day is gone: %v", paths)
	}
}

// A day that is too large by itself loses its oldest samples. The database stays below twice the
// limit, and the newest moments are complete.
func TestTooLargeDayLosesItsOldestSamples(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	const limit = 1 << 18
	q := newQuiet(t, t.TempDir(), Options{MaxSize: limit})
	var moments []*snapshot.Snapshot
	for range 40 {
		moments = append(moments, q.record(128)...)
	}
	info, err := os.Stat(q.w.day.path) // the log of the database has up to 4 MB more
	if err != nil || info.Size() > 2*limit {
		t.Errorf("it takes %d bytes, %v", info.Size(), err)
	}
	r := q.end()
	has(t, r, moments[len(moments)-500:])
	if then, ok := r.At(moments[10].Time); ok && then.Time.Equal(moments[10].Time) && then.Rows[0].Used.Known() {
		t.Error("the oldest samples are still there")
	}
	if problems := r.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
}

// One tick of a clock that is set ten years ahead does not remove recordings.
func TestClockAheadRemovesNoDay(t *testing.T) {
	directory := t.TempDir()
	for day := range 3 {
		path := filepath.Join(directory, fileOf(start.AddDate(0, 0, day-3)))
		if err := os.WriteFile(path, []byte("recorded"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := &Writer{directory: directory, options: Options{Keep: 30 * 24 * time.Hour, MaxSize: 1 << 30}}
	w.prune(start.AddDate(10, 0, 0))
	w.prune(start)
	if paths, err := files(directory); err != nil || len(paths) != 3 {
		t.Errorf("%v are left: %v", paths, err)
	}
}

// The day that is being written is kept, and so are later days, however old they are. Removed days leave no file.
func TestDayThatIsWrittenIsKept(t *testing.T) {
	directory := t.TempDir()
	for i := -5; i <= 0; i++ {
		for _, also := range []string{"", "-wal", "-shm"} {
			if err := os.WriteFile(filepath.Join(directory, fileOf(start.AddDate(0, 0, i))+also), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	w := &Writer{directory: directory, day: &day{path: filepath.Join(directory, fileOf(start.AddDate(0, 0, -3)))}}
	w.prune(start)
	if paths, err := files(directory); err != nil || len(paths) != 4 || paths[0] != w.day.path {
		t.Errorf("%v are left: %v", paths, err)
	}
	if entries, err := os.ReadDir(directory); err != nil || len(entries) != 4*3 {
		t.Errorf("%v are left: %v", entries, err)
	}
}

// Days are kept up to Keep and MaxSize. Today and later days are always kept.
func TestDaysAreKeptUpToTheLimits(t *testing.T) {
	const day, size = 24 * time.Hour, 8
	for _, c := range []struct {
		keep    time.Duration
		maxSize int64
		first   int // the first day that stays, in days from today; there are days −5 to +1
	}{{3 * day, 100 * size, -3}, {30 * day, 4 * size, -2}, {30 * day, 4*size - 1, -1}, {30 * day, 1, 0}, {0, 100 * size, 0}} {
		directory := t.TempDir()
		for i := -5; i <= 1; i++ {
			if err := os.WriteFile(filepath.Join(directory, fileOf(start.AddDate(0, 0, i))), make([]byte, size), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		w := &Writer{directory: directory, options: Options{Keep: c.keep, MaxSize: c.maxSize}}
		w.prune(start)
		if paths, err := files(directory); err != nil || len(paths) != 2-c.first || filepath.Base(paths[0]) != fileOf(start.AddDate(0, 0, c.first)) {
			t.Errorf("%+v: %v are left: %v", c, paths, err)
		}
	}
}

// TestFolderIsPrunedEachHour: a recorder that runs for long removes days that have become too old.
func TestFolderIsPrunedEachHour(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	q.now = time.Now().Truncate(24 * time.Hour).Add(12 * time.Hour) // no midnight is near
	q.record(1)
	old := filepath.Join(q.w.directory, fileOf(q.now.AddDate(0, 0, -40)))
	for _, path := range []string{old, filepath.Join(q.w.directory, fileOf(q.now.AddDate(0, 0, -1)))} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for ago, want := range map[time.Duration]bool{time.Minute: true, 2 * time.Hour: false} {
		q.w.pruned = time.Now().Add(-ago)
		q.record(1)
		if _, err := os.Stat(old); err == nil != want {
			t.Errorf("%v after it was pruned: %v", ago, err)
		}
		if err := os.WriteFile(old, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	q.end()
}

package recording

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/needs"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/sampler/snapshot/snapshottest"
)

func TestSecondWriterIsRefused(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	_, err := Create(q.w.directory, Options{})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("PID %d records there", os.Getpid())) {
		t.Errorf("a second writer: %v", err)
	}
	q.record(3)
	q.end()
	again, err := Create(q.w.directory, Options{})
	if err != nil {
		t.Fatalf("after the first one has ended: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// TestFolderThatOthersCanWriteIsRefused: another user could put a link there that SQLite would follow.
// The folder can still be read.
func TestFolderThatOthersCanWriteIsRefused(t *testing.T) {
	directory := t.TempDir()
	q := newQuiet(t, directory, Options{})
	q.record(3)
	q.end()
	for _, mode := range []os.FileMode{0o777, 0o777 | os.ModeSticky, 0o757} {
		if err := os.Chmod(directory, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(directory, Options{}); err == nil || !strings.Contains(err.Error(), "can be written by others") || !strings.Contains(err.Error(), "chmod go-w") {
			t.Errorf("mode %v: %v", mode, err)
		}
		r, err := Open(directory)
		if err != nil {
			t.Fatalf("mode %v: reading: %v", mode, err)
		}
		_ = r.Close() // only opening matters
	}
	if err := os.Chmod(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(directory, link); err != nil {
		t.Fatal(err)
	}
	w, err := Create(link, Options{})
	if err != nil {
		t.Fatalf("a link of one's own: %v", err)
	}
	_ = w.Close() // nothing was recorded
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Chown(directory, 12345, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(directory, Options{}); err == nil || !strings.Contains(err.Error(), "another user's") {
		t.Errorf("another user's: %v", err)
	}
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "state", "recordings")
	q := newQuiet(t, directory, Options{})
	q.record(3)
	entries, err := os.ReadDir(directory)
	if err != nil || len(entries) < 4 { // the database, its log and index, the lock
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(directory); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", info.Mode(), err)
	}
}

func tmpfs(t *testing.T, size quantity.Bytes) string {
	t.Helper()
	directory := t.TempDir()
	if err := unix.Mount("tmpfs", directory, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0755", size)); err != nil {
		if errors.Is(err, unix.EPERM) && os.Getuid() != 0 {
			t.Skip("mounting needs root")
		}
		needs.Missing(t, "no file system can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(directory, unix.MNT_DETACH) })
	return directory
}

func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	directory := tmpfs(t, 2*quantity.MiB)
	ballast := filepath.Join(directory, "ballast")
	if err := os.WriteFile(ballast, make([]byte, quantity.MiB), 0o600); err != nil {
		t.Fatal(err)
	}
	q := newQuiet(t, directory, Options{})
	var safe []*snapshot.Snapshot
	for !q.w.State().Paused {
		moments := q.record(10)
		if !q.w.State().Paused {
			safe = append(safe, moments...)
		}
		if len(safe) > 100_000 {
			t.Fatal("the disk is never full")
		}
	}
	if s := q.w.State(); s.Reason != "the disk is full" || s.Lost == 0 || s.Ticks != int64(len(safe)) {
		t.Errorf("full after %d ticks: %+v", len(safe), s)
	}
	q.record(10)
	if !q.w.State().Paused {
		t.Error("it records on a full disk")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	after := q.record(200)
	if s := q.w.State(); s.Paused || s.Reason != "" {
		t.Errorf("with room again: %+v", s)
	}
	r := q.end()
	has(t, r, safe)
	has(t, r, after)
	if problems := r.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
}

func remount(t *testing.T, directory string, flags uintptr) {
	t.Helper()
	if err := unix.Mount("", directory, "", unix.MS_REMOUNT|flags, ""); err != nil {
		t.Fatal(err)
	}
}

func TestFolderTurnsReadOnly(t *testing.T) {
	directory := tmpfs(t, 4*quantity.MiB)
	q := newQuiet(t, directory, Options{})
	before := q.record(20)
	q.w.drop(unix.EROFS) // as after a failed write
	_ = q.w.lock.Close()
	remount(t, directory, unix.MS_RDONLY)
	q.record(10)
	if s := q.w.State(); !s.Paused || s.Reason != "the folder cannot be written" || s.Lost != 10 {
		t.Errorf("read-only: %+v", s)
	}
	remount(t, directory, 0)
	after := q.record(20)
	if s := q.w.State(); s.Paused || s.Reason != "" || s.Lost != 10 {
		t.Errorf("writable again: %+v", s)
	}
	r := q.end()
	has(t, r, before)
	has(t, r, after)
	if problems := r.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestReadOnlyFolder(t *testing.T) {
	directory := tmpfs(t, 4*quantity.MiB)
	q := newQuiet(t, directory, Options{})
	moments := q.record(200)
	if err := q.w.end(); err != nil {
		t.Fatal(err)
	}
	remount(t, directory, unix.MS_RDONLY)
	if _, err := Create(directory, Options{}); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("recording into it: %v", err)
	}
	has(t, read(t, directory), moments)
}

// A killed recorder leaves a log, without which the day is not complete. SQLite cannot use a log in a
// read-only folder. An empty log does not matter.
func TestLogInAReadOnlyFolder(t *testing.T) {
	for _, killed := range []bool{false, true} {
		q := newQuiet(t, t.TempDir(), Options{})
		q.record(3)
		if !killed {
			q.end()
		}
		name := fileOf(q.now)
		content, err := os.ReadFile(filepath.Join(q.w.directory, name))
		log, missing := os.ReadFile(filepath.Join(q.w.directory, name+"-wal"))
		if err != nil || killed && missing != nil {
			t.Fatal(err, missing)
		}
		if killed {
			q.end()
		}
		directory := tmpfs(t, 8*quantity.MiB)
		path := filepath.Join(directory, name)
		if err := errors.Join(os.WriteFile(path, content, 0o600), os.WriteFile(path+"-wal", log, 0o600)); err != nil {
			t.Fatal(err)
		}
		remount(t, directory, unix.MS_RDONLY)
		d, err := openReader(path)
		if (err != nil) != killed || err != nil && !strings.Contains(err.Error(), "its log cannot be used there") {
			t.Errorf("killed %t: %v", killed, err)
		}
		if err == nil {
			_ = d.db.Close() // it was only read
		}
	}
}

// A tick of a slow sampler is committed at once, not after commitInterval.
func TestRareTicksAreCommittedAtOnce(t *testing.T) {
	for interval, want := range map[time.Duration]int64{commitInterval - 1: 0, commitInterval: 1} {
		q := newQuiet(t, t.TempDir(), Options{})
		q.snap.Interval = interval
		if q.w.write(tick{q.next(), nil}); q.w.State().Ticks != want {
			t.Errorf("every %v: %d ticks are on disk, want %d", interval, q.w.State().Ticks, want)
		}
		q.end()
	}
}

// A query that fails is an error, not the figure 0. A query without a row returns 0.
func TestQueryThatFailsIsAnError(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	q.record(1)
	for query, fails := range map[string]bool{"SELECT 1 WHERE 0": false, "SELECT 'no number'": true} {
		if id := q.w.day.find(query); id != 0 || (q.w.day.err != nil) != fails {
			t.Errorf("%s: %d, %v", query, id, q.w.day.err)
		}
		q.w.day.err = nil
	}
	q.end()
}

func TestSlowDiskIsAGap(t *testing.T) {
	w, err := newWriter(t.TempDir(), Options{}) // nothing is written
	if err != nil {
		t.Fatal(err)
	}
	box := newSynthetic(1, 1)
	lost := 0
	for range queueTicks + 5 {
		if w.Append(box.next(), nil) != nil {
			lost++
		}
	}
	if s := w.State(); lost != 5 || s.Lost != 5 {
		t.Errorf("%d lost, state %+v", lost, s)
	}
	go w.run()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if s := w.State(); s.Ticks != queueTicks || s.Lost != 5 {
		t.Errorf("at the end: %+v", s)
	}
}

// After a recording or its folder is removed, recording does not continue in the removed files.
func TestRecordingGoesOnWhereItsFilesAreRemoved(t *testing.T) {
	for _, whole := range []bool{false, true} {
		directory := filepath.Join(t.TempDir(), "recording")
		q := newQuiet(t, directory, Options{})
		q.record(3)
		if whole {
			if err := os.RemoveAll(directory); err != nil {
				t.Fatal(err)
			}
		} else {
			paths, err := filepath.Glob(filepath.Join(directory, "*"))
			if err != nil || len(paths) < 2 {
				t.Fatal(paths, err)
			}
			for _, path := range paths {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
		}
		q.record(2)
		if s := q.w.State(); !s.Paused || s.Lost != 2 || !strings.Contains(s.Reason, "removed") {
			t.Errorf("whole folder %v: %+v", whole, s)
		}
		after := q.record(4)
		if s := q.w.State(); s.Paused || s.Lost != 2 {
			t.Errorf("whole folder %v: %+v", whole, s)
		}
		if _, err := Create(directory, Options{}); err == nil || !strings.Contains(err.Error(), "records there") {
			t.Errorf("whole folder %v: a second recorder: %v", whole, err)
		}
		has(t, q.end(), after)
	}
}

// TestLockThatIsReplacedIsTakenAnew: another program could lock a file that has replaced the lock's file.
// From the next day on, the recorder holds the lock of the new file, or recording pauses.
func TestLockThatIsReplacedIsTakenAnew(t *testing.T) {
	for _, taken := range []bool{false, true} {
		directory := t.TempDir()
		q := newQuiet(t, directory, Options{})
		q.record(3)
		path := filepath.Join(directory, "lock")
		if err := errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		if taken {
			other, err := lockFolder(directory)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = other.Close() }() // frees the lock
		}
		q.now = q.now.Add(24 * time.Hour)
		q.record(3)
		if s := q.w.State(); !s.Paused == taken {
			t.Errorf("taken by another %v: %+v", taken, s)
		}
		if other, err := lockFolder(directory); err == nil {
			_ = other.Close() // the test has failed
			t.Errorf("taken by another %v: a third could take it", taken)
		}
		if err := q.w.end(); err != nil && !taken {
			t.Error(err)
		}
	}
}

// TestStartWaitsForItsFolder: the recorder tries again, and until then reports why it does not record.
func TestStartWaitsForItsFolder(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "recordings")
	if err := os.WriteFile(directory, nil, 0o600); err != nil { // not a directory
		t.Fatal(err)
	}
	w, err := newWriter(directory, Options{})
	if err == nil || w.lock != nil {
		t.Fatalf("it takes a file: %v", err)
	}
	w.fail(err)
	snap := snapshottest.DrawnBox()
	w.write(tick{snap, nil})
	if reason := w.Counts().Reason; !strings.Contains(reason, "not a directory") {
		t.Errorf("%q", reason)
	}
	if err := os.Remove(directory); err != nil {
		t.Fatal(err)
	}
	w.write(tick{snap, nil})
	if w.Counts().Reason == "" {
		t.Error("it is tried again at once")
	}
	w.retryAt = time.Time{}
	w.write(tick{snap, nil})
	w.commit()
	if reason := w.Counts().Reason; reason != "" {
		t.Errorf("then: %q", reason)
	}
	if got := w.Counts(); got.Errors != 1 || got.Lost != 2 || got.Written.IsZero() {
		t.Errorf("one error and two samples lost: %+v", got)
	}
	if err := w.end(); err != nil {
		t.Error(err)
	}
	opened, err := Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	_ = opened.Close()
}

// TestStartReportsAFolderThatIsOfNoUse: Start returns a writer in any case.
func TestStartReportsAFolderThatIsOfNoUse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for directory, want := range map[string]string{t.TempDir(): "", file: "not a directory"} {
		w := Start(directory, Options{})
		if reason := w.Counts().Reason; !strings.Contains(reason, want) || want == "" && reason != "" {
			t.Errorf("%q, want %q", reason, want)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWrittenIsWhenTicksWere: without new ticks, a commit writes nothing.
func TestWrittenIsWhenTicksWere(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	q.record(1)
	before := q.w.State()
	if q.w.commit(); q.w.State() != before || before.Written.IsZero() {
		t.Errorf("%+v, before %+v", q.w.State(), before)
	}
	q.end()
}

// TestFilesOfARecording: files that a user keeps beside the databases are not listed.
func TestFilesOfARecording(t *testing.T) {
	directory := t.TempDir()
	want := []string{"2026-10-01-damaged-2.db", "2026-10-01-damaged.db", "2026-10-01.db"}
	for _, name := range append(want, "2026-10-01", "2026-10-01-damaged", "2026-10-01-mine.db", "2026-10-01-damaged-mine.db", "2026-13-01.db", "mine.db", "lock") {
		if err := os.WriteFile(filepath.Join(directory, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(directory, "2026-10-02.db"), 0o700), os.Symlink("2026-10-01.db", filepath.Join(directory, "2026-10-03.db"))); err != nil {
		t.Fatal(err)
	}
	paths, err := files(directory)
	for i, path := range paths {
		paths[i] = filepath.Base(path)
	}
	if err != nil || !slices.Equal(paths, want) {
		t.Errorf("%v, %v", paths, err)
	}
	if of, err := days(directory); err != nil || len(of) != 1 {
		t.Errorf("days: %v, %v", of, err)
	}
}

// TestEachDamagedDatabaseIsSetAside: none replaces another.
func TestEachDamagedDatabaseIsSetAside(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "2026-10-01.db")
	for _, name := range []string{"2026-10-01-damaged.db", "2026-10-01-damaged-2.db", "2026-10-01-damaged-3.db"} {
		for _, also := range []string{"", "-wal"} {
			if err := os.WriteFile(path+also, []byte(name+also), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		setAside(path)
		for _, also := range []string{"", "-wal"} {
			if content, err := os.ReadFile(filepath.Join(directory, name+also)); err != nil || string(content) != name+also {
				t.Errorf("%s: %q, %v", name+also, content, err)
			}
		}
	}
}

// TestDayIsTrimmedToItsLimit: a database of exactly the limit keeps its samples.
func TestDayIsTrimmedToItsLimit(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	q.record(200)
	d := q.w.day
	takes := d.find("SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size")
	for _, limit := range []int64{takes, takes - 1} {
		d.trim(limit)
		if got, want := d.find("SELECT count(*) FROM ticks"), 1-(takes-limit); got != want {
			t.Errorf("it takes %d bytes of %d: %d blocks, want %d", takes, limit, got, want)
		}
	}
	q.end()
}

// TestStatementIsPreparedOnce: each prepared statement takes memory until the day ends.
func TestStatementIsPreparedOnce(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	q.record(1)
	const query = "SELECT count(*) FROM gpus"
	if first := q.w.day.statement(query); first == nil || q.w.day.statement(query) != first {
		t.Error("it is prepared again")
	}
	q.end()
}

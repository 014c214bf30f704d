package recording

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/needs"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/sampler/snapshot"
)

// quiet is a small synthetic box with a writer that the test drives.
type quiet struct {
	*synthetic
	t testing.TB
	w *Writer
}

func newQuiet(t testing.TB, directory string, options Options) *quiet {
	t.Helper()
	w, err := newWriter(directory, options)
	if err != nil {
		t.Fatal(err)
	}
	w.retry = 0
	return &quiet{newSynthetic(2, 3), t, w}
}

// record writes ticks, a second each, and commits them.
func (q *quiet) record(ticks int) (moments []*snapshot.Snapshot) {
	for range ticks {
		snap := q.next()
		q.w.write(tick{snap, nil})
		moments = append(moments, snap)
	}
	q.w.commit()
	return moments
}

// end closes the writer and reads what it recorded.
func (q *quiet) end() *Recording {
	q.t.Helper()
	if err := q.w.end(); err != nil {
		q.t.Fatal(err)
	}
	return read(q.t, q.w.directory)
}

// has fails unless the recording has the moments, exactly.
func has(t testing.TB, r *Recording, moments []*snapshot.Snapshot) {
	t.Helper()
	for _, want := range moments {
		got, ok := r.At(want.Time)
		if !ok || !got.Time.Equal(want.Time) || len(got.Rows) != len(want.Rows) {
			t.Fatalf("at %v: %v %+v", want.Time, ok, got)
		}
		for i := range want.Rows {
			w := &want.Rows[i]
			if g := got.Row(w.ID); g == nil || g.Used != w.Used || g.Allocated != w.Allocated {
				t.Fatalf("at %v: row %+v, want %+v", want.Time, g, w)
			}
		}
	}
}

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

// After the clock was set back, the newer ticks of a time count; forward, there is
// a gap. No figure is invented in it.
func TestClockIsSet(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	q := newQuiet(t, t.TempDir(), Options{})
	q.now = q.now.Add(12 * time.Hour)
	early := q.record(300)
	q.now = q.now.Add(-200 * time.Second)
	again := q.record(300)
	q.now = q.now.Add(time.Hour)
	late := q.record(20)
	q.now = q.now.Add(-26 * time.Hour) // another day
	before := q.record(10)
	r := q.end()
	has(t, r, early[:99])
	has(t, r, again)
	has(t, r, late)
	has(t, r, before)
	last := again[len(again)-1]
	if then, ok := r.At(last.Time.Add(30 * time.Minute)); !ok || !then.Time.Equal(last.Time) {
		t.Errorf("in the gap: %v, %v, want the moment before it, %v", ok, then.Time, last.Time)
	}
	key := snapshot.SeriesKey{Metric: metric.Used, Row: q.snap.Rows[0].ID}
	for i, p := range r.Series(key, last.Time.Add(time.Second), late[0].Time.Add(-time.Second), 20) {
		if p.Known {
			t.Errorf("point %d of the gap is known: %+v", i, p)
		}
	}
	// A sample of the shadowed time would be older than its neighbours.
	points := r.Series(key, early[0].Time.Add(-time.Second), last.Time, len(early)+len(again))
	known := 0
	for _, p := range points {
		if p.Known {
			known++
		}
	}
	if known < 380 || known > 420 {
		t.Errorf("%d known points of %d", known, len(points))
	}
}

func TestReaderDuringWriting(t *testing.T) {
	directory := t.TempDir()
	w, err := Create(directory, Options{})
	if err != nil {
		t.Fatal(err)
	}
	box := newSynthetic(2, 3)
	ended := make(chan []*snapshot.Snapshot)
	stop := make(chan struct{})
	go func() {
		var moments []*snapshot.Snapshot
		for {
			select {
			case <-stop:
				ended <- moments
				return
			default:
			}
			snap := box.next()
			if w.Append(snap, nil) == nil {
				moments = append(moments, snap)
			}
			time.Sleep(time.Millisecond)
		}
	}()
	var r *Recording
	eventually(t, func() bool { r, err = Open(directory); return err == nil })
	newest := time.Time{}
	eventually(t, func() bool { // through several blocks
		oldest, now := r.Span()
		if now.Before(newest) {
			t.Fatalf("the span ends at %v after %v", now, newest)
		}
		newest = now
		then, ok := r.At(now)
		if !now.IsZero() && (!ok || len(then.Rows) != 6) {
			t.Fatalf("at %v: %v %+v", now, ok, then)
		}
		return now.Sub(oldest) > 200*time.Second
	})
	close(stop)
	moments := <-ended
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	has(t, r, moments)
	if problems := r.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("it did not happen within a minute")
		}
	}
}

// A slow disk costs ticks, which are counted; it never keeps the sampler waiting.
func TestSlowDiskIsAGap(t *testing.T) {
	w, err := newWriter(t.TempDir(), Options{}) // nobody writes
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

// tmpfs mounts a file system of so many bytes.
func tmpfs(t *testing.T, size quantity.Bytes) string {
	t.Helper()
	directory := t.TempDir()
	if err := unix.Mount("tmpfs", directory, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
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
	for q.w.State().Recording {
		moments := q.record(10)
		if q.w.State().Recording {
			safe = append(safe, moments...)
		}
		if len(safe) > 100_000 {
			t.Fatal("the disk is never full")
		}
	}
	if s := q.w.State(); s.Reason != "the disk is full" || s.Lost == 0 || s.Ticks != int64(len(safe)) || s.Since.IsZero() {
		t.Errorf("full after %d ticks: %+v", len(safe), s)
	}
	q.record(10)
	if q.w.State().Recording {
		t.Error("it records on a full disk")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	after := q.record(200)
	if s := q.w.State(); !s.Recording || s.Reason != "" {
		t.Errorf("with room again: %+v", s)
	}
	r := q.end()
	has(t, r, safe)
	has(t, r, after)
	if problems := r.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
}

// remount makes a file system read-only, or not. It must have no file open for writing.
func remount(t *testing.T, directory string, flags uintptr) {
	t.Helper()
	if err := unix.Mount("", directory, "", unix.MS_REMOUNT|flags, ""); err != nil {
		t.Fatal(err)
	}
}

// A folder may turn read-only while it is recorded into, as a disk with errors does.
func TestFolderTurnsReadOnly(t *testing.T) {
	directory := tmpfs(t, 4*quantity.MiB)
	q := newQuiet(t, directory, Options{})
	before := q.record(200)
	q.w.drop(unix.EROFS) // as of a write
	_ = q.w.lock.Close()
	remount(t, directory, unix.MS_RDONLY)
	q.record(10)
	if s := q.w.State(); s.Recording || s.Reason != "the folder cannot be written" || s.Lost != 10 {
		t.Errorf("read-only: %+v", s)
	}
	remount(t, directory, 0)
	after := q.record(200)
	if s := q.w.State(); !s.Recording || s.Reason != "" || s.Lost != 10 {
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

// What is no recording is refused and left alone by a reader. A recorder sets it aside,
// unless a newer vramscope has made it.
func TestForeignAndDamagedFiles(t *testing.T) {
	directory := t.TempDir()
	q := newQuiet(t, directory, Options{})
	q.record(3)
	q.end()
	good := filepath.Join(directory, fileOf(q.now))
	content, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Clone(content)
	newer[63]++ // the lowest byte of user_version
	foreign := bytes.Clone(content)
	foreign[68]++ // of application_id
	for _, c := range []struct {
		name, want string
		content    []byte
	}{
		{"text", "not a recording of vramscope", []byte(strings.Repeat("hello, world\n", 1000))},
		{"foreign", "not a recording of vramscope", foreign},
		{"header", "not a recording of vramscope", append(make([]byte, 100), content[100:]...)},
		{"newer", "update vramscope", newer},
		{"empty", "nothing is recorded in it", nil},
		{"cut", "damaged", content[:5000]},
		{"page 1", "damaged", append(append(bytes.Clone(content[:100]), make([]byte, 4000)...), content[4100:]...)},
	} {
		path := filepath.Join(t.TempDir(), fileOf(q.now))
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err == nil {
			r.At(q.now)
			err = errors.New(strings.Join(r.Problems(), "; "))
			_ = r.Close()
		}
		if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, c.content) {
			t.Errorf("%s: reading it has changed it", c.name)
		}
		w := newQuiet(t, filepath.Dir(path), Options{})
		w.now = q.now
		w.record(3)
		s := w.w.State()
		if refused := c.name == "newer"; refused == s.Recording || refused && !strings.Contains(s.Reason, c.want) {
			t.Errorf("%s: recording into its folder: %+v", c.name, s)
		}
		_ = w.w.end() // it may have nothing
		if c.name == "newer" || c.name == "empty" {
			continue
		}
		if aside, err := os.ReadFile(strings.TrimSuffix(path, suffix) + "-damaged" + suffix); err != nil || !bytes.Equal(aside, c.content) {
			t.Errorf("%s: it is not set aside as it was: %v", c.name, err)
		}
	}
	for _, path := range []string{"/nonexistent", t.TempDir()} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A damaged page costs what is on it. The rest can be read, and the problem is
// told.
func TestCorruptPage(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	directory := t.TempDir()
	q := newQuiet(t, directory, Options{})
	moments := q.record(1500)
	q.end()
	path := filepath.Join(directory, fileOf(q.now))
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	told, most := 0, 0
	pages := 0
	for n := 1; n < len(content)/page; n += 2 {
		pages++
		broken := bytes.Clone(content)
		for i := range page {
			broken[n*page+i] = byte(q.random.Uint32())
		}
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path)
		if err != nil && strings.Contains(err.Error(), "is damaged") {
			told++ // the schema: nothing of the day can be read
			continue
		}
		if err != nil {
			t.Fatalf("page %d: %v", n, err)
		}
		whole := 0
		for i := 0; i < len(moments); i += 100 {
			then, ok := r.At(moments[i].Time)
			if ok && then.Time.Equal(moments[i].Time) && len(then.Rows) == 6 && then.Row(moments[i].Rows[5].ID) != nil && then.Row(moments[i].Rows[5].ID).Used == moments[i].Rows[5].Used {
				whole++
			}
		}
		_, _ = r.Processes(moments[0].Time, q.now) // the problem is told below
		r.Events(0)
		if len(r.Problems()) > 0 {
			told++
		} else if whole < 15 {
			t.Errorf("page %d: %d moments of 15, and no problem: %v", n, whole, r.Problems())
		}
		if whole >= 13 {
			most++
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("of %d pages, %d show as a problem, and with %d nearly all moments can be read", pages, told, most)
	if most < pages/2 || told == 0 { // a small file has few leaves
		t.Errorf("of %d pages, %d show as a problem, and with %d nearly all moments can be read", pages, told, most)
	}
}

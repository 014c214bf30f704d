package recording

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Whichever table of today's database is damaged, recording goes on, in a new one.
func TestRecordingGoesOnWhereATableIsDamaged(t *testing.T) {
	directory := t.TempDir()
	q := newQuiet(t, directory, Options{})
	q.record(300)
	r := q.end()
	path := filepath.Join(directory, fileOf(q.now))
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	roots := make(map[string]int)
	d, err := r.day(path)
	if err != nil {
		t.Fatal(err)
	}
	d.each(func(rows *sql.Rows) error {
		var name string
		var page int
		err := rows.Scan(&name, &page)
		roots[name] = page
		return err
	}, "SELECT name, rootpage FROM sqlite_master WHERE rootpage > 1")
	if len(roots) < 10 {
		t.Fatalf("%d tables", len(roots))
	}
	for name, page := range roots {
		directory := t.TempDir()
		path := filepath.Join(directory, fileOf(q.now))
		clear(content[(page-1)*4096 : page*4096]) // of zeros SQLite makes no page
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if content, err = os.ReadFile(filepath.Join(q.w.directory, fileOf(q.now))); err != nil {
			t.Fatal(err)
		}
		w := newQuiet(t, directory, Options{})
		w.now = q.now
		w.record(150)
		w.record(3)
		if s := w.w.State(); !s.Recording {
			t.Errorf("%s: recording is paused: %s", name, s.Reason)
		}
		_ = w.w.end() // what is written at the end alone may be damaged
	}
}

// What a day that could not be closed has lost is counted as lost.
func TestLostAtMidnight(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	q.record(3)
	q.w.write(tick{q.next(), nil})
	q.w.day.err = errors.New("disk I/O error")
	q.now = q.now.Add(24 * 3600e9)
	q.record(2)
	if s := q.w.State(); s.Ticks != 5 || s.Lost != 1 {
		t.Errorf("%d ticks, %d lost, want 5 and 1", s.Ticks, s.Lost)
	}
	_ = q.end()
}

// A reader that is open follows: it reads the new database, not the one that was set
// aside.
func TestOpenReaderFollowsWhatIsSetAside(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	before := q.record(5)
	r := read(t, q.w.directory)
	has(t, r, before)
	if err := q.w.end(); err != nil {
		t.Fatal(err)
	}
	setAside(filepath.Join(q.w.directory, fileOf(q.now)))
	again := newQuiet(t, q.w.directory, Options{})
	again.now = q.now
	after := again.record(5)
	has(t, r, after)
	if then, ok := r.At(before[4].Time); ok {
		t.Errorf("a moment of the database that was set aside: %v", then.Time)
	}
	if oldest, _ := r.Span(); !oldest.Equal(after[0].Time) {
		t.Errorf("it begins at %v, want %v", oldest, after[0].Time)
	}
	if problems := r.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
	again.end()
}

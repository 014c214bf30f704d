package recording

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"vramscope/sampler/snapshot"
	"vramscope/sampler/store"
)

// If any table of today's database is damaged, recording continues, in a new database if needed.
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
		clear(content[(page-1)*4096 : page*4096]) // zeros are no valid page of SQLite
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
		if s := w.w.State(); s.Paused {
			t.Errorf("%s: recording is paused: %s", name, s.Reason)
		}
		_ = w.w.end() // an error is possible: the damage may be where end writes
	}
}

// Each row of a tail is a difference from the previous one, so the next recorder keeps only the rows before a damaged row.
func TestRecoveryEndsAtADamagedRow(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	moments := q.record(50)
	if err := q.w.day.database.close(); err != nil { // the recorder was killed, so there is a tail
		t.Fatal(err)
	}
	_ = q.w.lock.Close()
	edit(t, filepath.Join(q.w.directory, fileOf(q.now)), func(db *database) {
		db.exec("UPDATE tail SET data = zeroblob(length(data)) WHERE time_ns = ?", moments[20].Time.UnixNano())
	})
	next := newQuiet(t, q.w.directory, Options{})
	next.now = q.now
	after := next.record(3)
	r, n := next.end(), 0
	has(t, r, moments[:20])
	has(t, r, after)
	if err := r.Moments(moments[0].Time, after[0].Time, func(*snapshot.Snapshot) { n++ }); err != nil || n != 20 {
		t.Errorf("%d moments before the damaged one, want 20: %v", n, err)
	}
}

// TestDamagedTailHidesNoBlock: where no row of the tail can be read, the moments before it can.
func TestDamagedTailHidesNoBlock(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	moments := q.record(store.BlockTicks + 3)
	q.w.day.exec("UPDATE tail SET data = zeroblob(length(data))")
	if err := q.w.day.commit(); err != nil {
		t.Fatal(err)
	}
	last := moments[store.BlockTicks-1]
	if then, ok := read(t, q.w.directory).At(q.now); !ok || then.Sequence != uint64(last.Time.UnixNano()) {
		t.Errorf("%v, want the moment at %v", ok, last.Time)
	}
	q.end()
}

// A day that cannot be closed loses its uncommitted ticks, which State counts.
func TestLostAtMidnight(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	q.record(3)
	q.w.write(tick{q.next(), nil})
	q.w.day.err = errors.New("disk I/O error")
	q.w.retry = time.Hour // the next day is opened without this wait
	q.now = q.now.Add(24 * 3600e9)
	q.record(2)
	if s := q.w.State(); s.Ticks != 5 || s.Lost != 1 {
		t.Errorf("%d ticks, %d lost, want 5 and 1", s.Ticks, s.Lost)
	}
	_ = q.end()
}

// An open reader reads the new database, not the one that was set aside.
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
	foreign[68]++ // a byte of application_id
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
		if refused := c.name == "newer"; refused == !s.Paused || refused && !strings.Contains(s.Reason, c.want) {
			t.Errorf("%s: recording into its folder: %+v", c.name, s)
		}
		_ = w.w.end() // the writer may have nothing to write
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
	shown, most := 0, 0
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
			shown++ // a page of the schema: nothing of the day can be read
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
		_, _ = r.Processes(moments[0].Time, q.now) // Problems has the reason
		r.Events(0)
		if len(r.Problems()) > 0 {
			shown++
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
	t.Logf("of %d pages, %d show as a problem, and with %d nearly all moments can be read", pages, shown, most)
	if most < pages/2 || shown == 0 { // a small file has few leaves
		t.Errorf("of %d pages, %d show as a problem, and with %d nearly all moments can be read", pages, shown, most)
	}
}

// TestEndlessQueryIsEnded: a hostile file may have a view without an end.
func TestEndlessQueryIsEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x"+suffix)
	d, err := openDatabase(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.db.Close() }() // the write was only an attempt
	if _, err := d.conn.ExecContext(t.Context(), `DROP TABLE events; CREATE VIEW events AS
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i AS time_ns FROM n WHERE i > 1`); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	nothing := func(*sql.Rows) error { return nil }
	if err := each(short, d.conn, nothing, "SELECT time_ns FROM events"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("all rows: %v", err)
	}
	_ = d.conn.Close() // for the next query
	short, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var n int64
	if err := row(short, d.db, []any{&n}, "SELECT max(time_ns) FROM events"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a row: %v", err)
	}
}

// TestLongRowIsRefused: a hostile file may have a value of a gigabyte.
func TestLongRowIsRefused(t *testing.T) {
	directory := t.TempDir()
	q := newQuiet(t, directory, Options{})
	q.record(3)
	q.end()
	path := filepath.Join(directory, fileOf(q.now))
	change := func(statement string) {
		t.Helper()
		db, err := open(path, "rw")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }() // each statement is committed
		if _, err := db.ExecContext(t.Context(), statement, longestRow); err != nil {
			t.Fatal(err)
		}
	}
	change("UPDATE sessions SET host = replace(hex(zeroblob(?1)), '00', 'ab')")
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _ = r.Sessions(q.now.Add(-time.Hour), q.now.Add(time.Hour)) // Problems has the error
	runtime.ReadMemStats(&after)
	if problems := strings.Join(r.Problems(), "; "); !strings.Contains(problems, "too big") || !strings.Contains(problems, path) {
		t.Errorf("a host name of 32 MB: %s", problems)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > longestRow {
		t.Errorf("reading it allocates %d MB", n>>20)
	}
	_ = r.Close()
	// SQLite reads the definitions of tables before anything else.
	change("PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = sql || ' --' || hex(zeroblob(?1)) WHERE name = 'sessions'")
	if r, err := Open(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a table's definition of 32 MB: %v, %v", r, err)
	}
}

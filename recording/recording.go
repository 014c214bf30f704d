package recording

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"vramscope/sampler/snapshot"
)

// Recording is a recording on disk, read-only. It implements snapshot.History and is safe for
// concurrent use, even while a Writer appends to the recording.
type Recording struct {
	directory string // "" if it is a single file
	paths     []string

	mu       sync.Mutex
	open     map[string]*dayReader
	problems map[string]error // the first problem of each database, by path
}

var _ snapshot.History = (*Recording)(nil)

// Open opens the database of a day, or all databases of a folder.
func Open(path string) (*Recording, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	r := &Recording{open: make(map[string]*dayReader), problems: make(map[string]error)}
	if info.IsDir() {
		r.directory = path
		paths, err := days(path)
		if err != nil {
			return nil, err
		}
		if len(paths) == 0 {
			return nil, fmt.Errorf("recording: %s: %w", path, ErrEmpty)
		}
		r.paths = paths
	} else {
		r.paths = []string{path}
	}
	// An unreadable day is noted as a problem. It is an error only if all days are unreadable.
	for _, path := range slices.Backward(r.paths) {
		if _, err = r.day(path); err == nil {
			return r, nil
		}
	}
	return nil, err
}

// Problems returns the first problem of each day that could not be read completely so far.
func (r *Recording) Problems() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(r.problems)) {
		lines = append(lines, r.problems[path].Error())
	}
	return lines
}

// note remembers the first problem of a day. A missing row is no problem, nor is a day that is closed
// or has been removed.
func (r *Recording) note(path string, err error) error {
	if err == nil || errors.Is(err, os.ErrNotExist) || errors.Is(err, sql.ErrNoRows) || strings.Contains(err.Error(), "database is closed") {
		return err
	}
	if _, gone := os.Stat(path); gone != nil {
		return err
	}
	if damaged(err) && !errors.Is(err, ErrForeign) {
		err = fmt.Errorf("recording: %s is damaged, a part of it cannot be read (sqlite3 %[1]s .recover saves what can be saved): %w", path, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.problems[path] == nil {
		r.problems[path] = err
	}
	return err
}

// unlessDamaged returns err if it must end a query over all days. Damage does not: unlessDamaged
// notes it as a problem of its day and returns nil.
func (r *Recording) unlessDamaged(path string, err error) error {
	if err != nil && damaged(err) {
		_ = r.note(path, err)
		return nil
	}
	return err
}

// eachReader visits the days between from and to, oldest first. It skips the rest of a damaged day,
// which Problems reports.
func (r *Recording) eachReader(from, to time.Time, visit func(*dayReader) error) error {
	for _, path := range r.between(from, to) {
		d, err := r.day(path)
		if err == nil {
			err = visit(d)
		}
		if err = r.unlessDamaged(path, err); err != nil {
			return fmt.Errorf("recording: %s: %w", path, err)
		}
	}
	return nil
}

func (r *Recording) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	for path, d := range r.open {
		err = errors.Join(err, d.db.Close())
		delete(r.open, path)
	}
	return err
}

// day returns the reader of a day, and opens it if needed.
func (r *Recording) day(path string) (*dayReader, error) {
	now, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	r.mu.Lock()
	d := r.open[path]
	if d != nil && !os.SameFile(d.file, now) { // the database was set aside, and a new one begun
		_ = d.db.Close() // the database was only read
		delete(r.open, path)
		d = nil
	}
	r.mu.Unlock()
	if d != nil {
		return d, nil
	}
	if d, err = openReader(path); err != nil {
		return nil, r.note(path, err)
	}
	d.file = now
	d.problem = func(err error) { _ = r.note(path, err) }
	r.mu.Lock()
	defer r.mu.Unlock()
	if other := r.open[path]; other != nil {
		_ = d.db.Close() // another goroutine was quicker
		return other, nil
	}
	r.open[path] = d
	return d, nil
}

// all lists the databases again, because days come and go while a Writer records.
func (r *Recording) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.directory == "" {
		return r.paths
	}
	if paths, err := days(r.directory); err == nil {
		r.paths = paths
		for path, d := range r.open {
			if !slices.Contains(paths, path) { // the database was removed or renamed
				_ = d.db.Close() // the database was only read
				delete(r.open, path)
			}
		}
	}
	return r.paths
}

// between lists the days that may have moments of (from, to], oldest first. A single file may
// have any day.
func (r *Recording) between(from, to time.Time) []string {
	paths := r.all()
	if r.directory == "" {
		return paths
	}
	first, last := fileOf(from), fileOf(to)
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		name := filepath.Base(path)
		return name < first || name > last
	})
}

// Span returns the time that the recording covers; both are zero while it is empty.
func (r *Recording) Span() (oldest, newest time.Time) {
	paths := r.all()
	for _, path := range paths {
		if d, err := r.day(path); err == nil {
			if from, _ := d.span(); from != 0 {
				oldest = moment(from)
				break
			}
		}
	}
	for _, path := range slices.Backward(paths) {
		if d, err := r.day(path); err == nil {
			if _, to := d.span(); to != 0 {
				return oldest, moment(to)
			}
		}
	}
	return oldest, newest
}

type dayReader struct {
	file    os.FileInfo // the file when it was opened
	db      *sql.DB
	problem func(error)

	mu   sync.Mutex
	tail tailCache
}

func openReader(path string) (*dayReader, error) {
	db, blank, err := openWhole(path)
	if err == nil && blank {
		err = fmt.Errorf("recording: %s: nothing is recorded in it", path)
	}
	if err != nil {
		if db != nil {
			_ = db.Close() // err has the reason
		}
		return nil, err
	}
	// Closing idle connections frees the memory of a day that is no longer read.
	db.SetConnMaxIdleTime(time.Minute)
	return &dayReader{db: db, problem: func(error) {}}, nil
}

// openWhole opens a database for reading, together with its write-ahead log. To read a log, SQLite
// creates files beside the database. Where SQLite cannot create files, openWhole opens a database
// without a log as immutable. It sets no pragma such as cache_size, because SQLite would then read
// the table definitions before longestRow limits them.
func openWhole(path string) (db *sql.DB, blank bool, err error) {
	for _, more := range []string{"", "&immutable=1"} {
		if db, err = open(path, "ro"+more); err != nil {
			return nil, false, err
		}
		if blank, err = check(ctx, db, path); err == nil || !strings.Contains(err.Error(), "unable to open") {
			return db, blank, err
		}
		_ = db.Close() // err has the reason
		if log, missing := os.Stat(path + "-wal"); missing == nil && log.Size() > 0 {
			return nil, false, fmt.Errorf("%w: its log cannot be used there: copy %s and %[2]s-wal into a folder that you can write", err, path)
		}
	}
	return nil, false, err
}

// number reads a single number, 0 if there is none.
func (d *dayReader) number(query string, args ...any) (n int64) {
	var v sql.NullInt64
	d.row([]any{&v}, query, args...)
	return v.Int64
}

// row reads a single row. It returns false if the row is missing or unreadable.
func (d *dayReader) row(into []any, query string, args ...any) bool {
	err := row(ctx, d.db, into, query, args...)
	d.problem(err)
	return err == nil
}

// each calls scan for every row of a query, up to the first error, which it notes as a problem.
func (d *dayReader) each(scan func(*sql.Rows) error, query string, args ...any) {
	d.problem(each(ctx, d.db, scan, query, args...))
}

func (d *dayReader) span() (from, to int64) {
	return d.number("SELECT min(from_ns) FROM sessions"), max(d.number("SELECT max(to_ns) FROM sessions"), d.number("SELECT max(time_ns) FROM tail"))
}

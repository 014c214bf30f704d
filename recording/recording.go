package recording

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"vramscope/sampler/snapshot"
)

// Recording is a recording on disk, read-only. It implements snapshot.History and
// is safe for concurrent use, also while it is being written.
type Recording struct {
	directory string // "" where it is a single file
	paths     []string

	mu   sync.Mutex
	open map[string]*dayReader
}

var _ snapshot.History = (*Recording)(nil)

// Open opens a day's database, or all of a folder.
func Open(path string) (*Recording, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	r := &Recording{open: make(map[string]*dayReader)}
	if info.IsDir() {
		r.directory = path
		paths, err := days(path)
		if err != nil {
			return nil, err
		}
		if len(paths) == 0 {
			return nil, fmt.Errorf("recording: %s: there is no recording; vramscope daemon --record makes one", path)
		}
		r.paths = paths
	} else {
		r.paths = []string{path}
	}
	// The newest one shows whether it can be read at all.
	if _, err := r.day(r.paths[len(r.paths)-1]); err != nil {
		return nil, err
	}
	return r, nil
}

// Close closes the databases.
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

// day opens a day, or finds it open.
func (r *Recording) day(path string) (*dayReader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d := r.open[path]; d != nil {
		return d, nil
	}
	d, err := openReader(path)
	if err != nil {
		return nil, err
	}
	r.open[path] = d
	return d, nil
}

// all lists the databases anew: days come and go while one is written.
func (r *Recording) all() []string {
	if r.directory != "" {
		if paths, err := days(r.directory); err == nil && len(paths) > 0 {
			r.mu.Lock()
			r.paths = paths
			r.mu.Unlock()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.paths
}

// between lists the days that may have moments of (from, to], oldest first. A
// single file is of any day.
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

// Span is how far back the recording goes; both zero while it is empty.
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

// Events gives the newest events first, at most limit of them (0: all).
func (r *Recording) Events(limit int) []snapshot.Event {
	var events []snapshot.Event
	for _, path := range slices.Backward(r.all()) {
		d, err := r.day(path)
		if err != nil {
			continue
		}
		left := -1
		if limit > 0 {
			left = limit - len(events)
		}
		events = append(events, d.events(left)...)
		if limit > 0 && len(events) >= limit {
			break
		}
	}
	return events
}

// dayReader reads the database of one day.
type dayReader struct {
	path string
	db   *sql.DB

	mu     sync.Mutex
	series map[int64]seriesOf // those that were looked up: they never change
	tail   tailCache
}

func openReader(path string) (*dayReader, error) {
	db, err := open(path, "ro", "query_only(1)", "cache_size(-4096)")
	if err != nil {
		return nil, err
	}
	version, err := check(ctx, db, path)
	if err == nil && version == 0 {
		err = fmt.Errorf("recording: %s: nothing is recorded in it", path)
	}
	if err != nil {
		_ = db.Close()
		return nil, err
	}
	// A day that nobody reads any more costs nothing after a minute.
	db.SetConnMaxIdleTime(time.Minute)
	return &dayReader{path: path, db: db, series: make(map[int64]seriesOf)}, nil
}

// number is a single number, 0 where there is none.
func (d *dayReader) number(query string, args ...any) (n int64) {
	var v sql.NullInt64
	_ = d.db.QueryRowContext(ctx, query, args...).Scan(&v)
	return v.Int64
}

// span is the first and the last tick.
func (d *dayReader) span() (from, to int64) {
	return d.number("SELECT min(from_ns) FROM sessions"),
		max(d.number("SELECT max(to_ns) FROM sessions"), d.number("SELECT max(time_ns) FROM tail"))
}

package recording

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// database is the one connection that writes, with its prepared statements. It keeps the first error
// in err; exec, each and commit then do nothing.
type database struct {
	db       *sql.DB
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
	begun    bool
	err      error
}

// openDatabase opens a database for writing, and creates the tables of a new one.
func openDatabase(path string) (*database, error) {
	if err := create(path); err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	// The cache is small (512 KiB), because appending needs few pages.
	db, err := open(path, "rw", "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-512)", "journal_size_limit(1048576)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	d := &database{db: db, prepared: make(map[string]*sql.Stmt)}
	blank, err := check(ctx, db, path)
	if err != nil {
		_ = db.Close() // the earlier error is reported
		return nil, err
	}
	if blank {
		err = createTables(ctx, db)
	}
	if err == nil {
		d.conn, err = limited(ctx, db)
	}
	if err != nil {
		_ = db.Close() // the earlier error is reported
		return nil, fmt.Errorf("recording: %s: %w", path, err)
	}
	return d, nil
}

// queryTime limits a query by each. A hostile file may have an endless view in place of a table.
const queryTime = time.Minute

// longestRow is the most bytes that a row or a value may have, because SQLite reads a whole row into
// memory and the file may be hostile.
const longestRow = 16 << 20

// limited returns a connection on which a row longer than longestRow is an error.
func limited(ctx context.Context, db *sql.DB) (*sql.Conn, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_LENGTH, longestRow); err != nil {
		_ = conn.Close() // the earlier error is reported
		return nil, err
	}
	return conn, nil
}

// ctx is never cancelled, because cancelling a write would leave its transaction in an unknown state.
var ctx = context.Background()

// statement returns the prepared statement for a text. It prepares each text once.
func (d *database) statement(text string) *sql.Stmt {
	s := d.prepared[text]
	if s == nil && d.err == nil {
		if s, d.err = d.conn.PrepareContext(ctx, text); d.err == nil {
			d.prepared[text] = s
		}
	}
	return s
}

// exec runs a statement in a transaction, and returns the ID of the inserted row.
func (d *database) exec(text string, args ...any) int64 {
	if !d.begun && d.err == nil {
		_, d.err = d.conn.ExecContext(ctx, "BEGIN IMMEDIATE")
		d.begun = d.err == nil
	}
	s := d.statement(text)
	if d.err != nil {
		return 0
	}
	result, err := s.ExecContext(ctx, args...)
	if err != nil {
		d.err = err
		return 0
	}
	id, _ := result.LastInsertId() // SQLite's driver always returns an ID
	return id
}

func (d *database) each(scan func(*sql.Rows) error, text string, args ...any) {
	if d.err == nil {
		d.err = each(ctx, d.conn, scan, text, args...)
	}
}

type querier interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

// each calls scan for every row of a query, which may take at most queryTime.
func each(ctx context.Context, in querier, scan func(*sql.Rows) error, text string, args ...any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, queryTime, errEndless)
	defer cancel()
	if db, ok := in.(*sql.DB); ok {
		conn, err := limited(ctx, db)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }() // returns the connection to the pool
		in = conn
	}
	rows, err := in.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err reports what went wrong
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return cmp.Or(context.Cause(ctx), rows.Err()) // the cause says more than "interrupted"
}

var errEndless = fmt.Errorf("a query did not end in %s", queryTime)

// row scans the first row of a query. Without a row it returns sql.ErrNoRows.
func row(ctx context.Context, in querier, into []any, text string, args ...any) error {
	missing := sql.ErrNoRows
	err := each(ctx, in, func(rows *sql.Rows) error {
		if missing == nil {
			return nil
		}
		missing = nil
		return rows.Scan(into...)
	}, text, args...)
	return cmp.Or(err, missing)
}

// commit makes everything written so far durable.
func (d *database) commit() error {
	if d.err == nil && d.begun {
		_, d.err = d.conn.ExecContext(ctx, "COMMIT")
		d.begun = false
	}
	return d.err
}

// close rolls back the uncommitted transaction.
func (d *database) close() error {
	if d.begun {
		_, _ = d.conn.ExecContext(ctx, "ROLLBACK") // closing the connection rolls back too
	}
	d.release()
	return d.db.Close()
}

func (d *database) release() {
	for _, s := range d.prepared {
		_ = s.Close() // the connection is released next
	}
	_ = d.conn.Close() // returns the connection to db
}

package recording

import (
	"context"
	"database/sql"
	_ "embed" // the schema
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
)

//go:embed schema.sql
var schema string

// The database records its program and its version.
const (
	applicationID = 0x76726d73 // "vrms"
	schemaVersion = 5
)

// Errors of a database that cannot be read.
var (
	ErrForeign = errors.New("not a recording of vramscope")
	// ErrEmpty is Open's error for a directory without a recording.
	ErrEmpty = errors.New("there is no recording")
	ErrNewer = errors.New("made by a newer vramscope")
)

// open opens a database in a mode, with these pragmas.
func open(path, mode string, pragmas ...string) (*sql.DB, error) {
	values := url.Values{"_pragma": append([]string{"busy_timeout(2000)"}, pragmas...)}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode="+mode+"&"+values.Encode())
	if err != nil {
		return nil, fmt.Errorf("recording: %s: %w", path, err)
	}
	return db, nil
}

// blank is the version of a database without tables.
const blank = -1

// check verifies that a database is a recording, and returns its version.
func check(ctx context.Context, db *sql.DB, path string) (version int, err error) {
	var id, tables int
	err = row(ctx, db, []any{&id, &version, &tables},
		"SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_application_id, pragma_user_version")
	switch {
	case err != nil && strings.Contains(err.Error(), "file is not a database"):
		return 0, fmt.Errorf("recording: %s: %w", path, ErrForeign)
	case err != nil:
		return 0, fmt.Errorf("recording: %s: %w", path, err)
	case tables == 0:
		return blank, nil
	case id != applicationID:
		return 0, fmt.Errorf("recording: %s: %w", path, ErrForeign)
	case version > schemaVersion:
		return 0, fmt.Errorf("recording: %s: %w (schema %d, this one reads up to %d): update vramscope", path, ErrNewer, version, schemaVersion)
	}
	return version, nil
}

// create makes the tables of a new database. Only its owner can read it: the mode is set before
// anything is written, and SQLite gives its other files the same mode.
func create(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// tables are the columns of each table in this version, in order.
var tables = sync.OnceValue(func() map[string][]string {
	all := make(map[string][]string)
	db, err := inMemory()
	if err == nil {
		all, err = columnsOf(db)
		_ = db.Close() // it was in memory
	}
	if err != nil {
		panic(err) // the schema is this program's own
	}
	return all
})

// inMemory makes a database in memory with the tables of this version.
func inMemory() (*sql.DB, error) {
	db, err := open("", "memory")
	if err == nil {
		db.SetMaxOpenConns(1)
		err = createTables(ctx, db)
	}
	return db, err
}

// columnsOf returns the columns of each table of a database.
func columnsOf(in querier) (map[string][]string, error) {
	all := make(map[string][]string)
	err := each(ctx, in, func(rows *sql.Rows) error {
		var table, column string
		err := rows.Scan(&table, &column)
		all[table] = append(all[table], column)
		return err
	}, "SELECT t.name, c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY t.name, c.cid")
	return all, err
}

// missing visits the tables and columns that a database of an older version lacks; has is empty
// if the whole table is missing.
func missing(in querier, visit func(table string, has, lacks []string) error) error {
	there, err := columnsOf(in)
	if err != nil {
		return err
	}
	for table, columns := range tables() {
		lacks := slices.DeleteFunc(slices.Clone(columns), func(c string) bool { return slices.Contains(there[table], c) })
		if len(lacks) > 0 {
			if err := visit(table, there[table], lacks); err != nil {
				return err
			}
		}
	}
	return nil
}

func upgrade(ctx context.Context, db *sql.DB) error {
	added := false
	err := missing(db, func(table string, has, lacks []string) error {
		added = true
		if len(has) == 0 {
			_, after, _ := strings.Cut(schema, "CREATE TABLE "+table+" ")
			body, _, _ := strings.Cut(after, ";")
			_, err := db.ExecContext(ctx, "CREATE TABLE "+table+" "+body)
			return err
		}
		for _, column := range lacks {
			if _, err := db.ExecContext(ctx, "ALTER TABLE "+table+" ADD COLUMN "+column); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && added {
		_, err = db.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
	}
	return err
}

// supplement adds what an older database lacks, as unknown, for this connection alone: a view in
// the temporary schema has precedence over a table.
func supplement(ctx context.Context, db *sql.DB) error {
	return missing(db, func(table string, has, lacks []string) error {
		db.SetMaxOpenConns(1) // the views are the connection's
		db.SetConnMaxIdleTime(0)
		view := "CREATE TEMP VIEW " + table + " AS SELECT "
		if len(has) > 0 {
			view += strings.Join(has, ", ") + ", "
		}
		view += "NULL AS " + strings.Join(lacks, ", NULL AS ")
		if len(has) > 0 {
			view += " FROM main." + table
		} else {
			view += " WHERE 0"
		}
		_, err := db.ExecContext(ctx, view)
		return err
	})
}

func createTables(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, fmt.Sprintf("BEGIN; PRAGMA application_id = %d; PRAGMA user_version = %d; %s; COMMIT", applicationID, schemaVersion, schema))
	return err
}

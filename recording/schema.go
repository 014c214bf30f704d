package recording

import (
	"context"
	"database/sql"
	_ "embed" // the schema
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

//go:embed schema.sql
var schema string

// SQLite's application_id and user_version in every database.
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
	ErrOlder = errors.New("made by an older vramscope")
)

// open opens a database in an SQLite mode (ro, rw or memory), with pragmas for each connection.
func open(path, mode string, pragmas ...string) (*sql.DB, error) {
	values := url.Values{"_pragma": append([]string{"busy_timeout(2000)"}, pragmas...)}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode="+mode+"&"+values.Encode())
	if err != nil {
		return nil, fmt.Errorf("recording: %s: %w", path, err)
	}
	return db, nil
}

// check verifies that a database is a recording of this version, or blank: without tables.
func check(ctx context.Context, db *sql.DB, path string) (blank bool, err error) {
	var id, version, tables int
	err = row(ctx, db, []any{&id, &version, &tables},
		"SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_application_id, pragma_user_version")
	switch {
	case err != nil && strings.Contains(err.Error(), "file is not a database"):
		return false, fmt.Errorf("recording: %s: %w", path, ErrForeign)
	case err != nil:
		return false, fmt.Errorf("recording: %s: %w", path, err)
	case tables == 0:
		return true, nil
	case id != applicationID:
		return false, fmt.Errorf("recording: %s: %w", path, ErrForeign)
	case version > schemaVersion:
		return false, fmt.Errorf("recording: %s: %w (schema %d, this one reads %d): update vramscope", path, ErrNewer, version, schemaVersion)
	case version < schemaVersion:
		return false, fmt.Errorf("recording: %s: %w (schema %d, this one reads %d): replay it with that version, of before 2026-11-24; to record, move it away", path, ErrOlder, version, schemaVersion)
	}
	return false, nil
}

// create creates the file of a database if it is missing. Only the owner can read the file: the
// mode is set before anything is written, and SQLite gives its other files the same mode.
func create(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

func inMemory() (*sql.DB, error) {
	db, err := open("", "memory")
	if err == nil {
		db.SetMaxOpenConns(1)
		err = createTables(ctx, db)
	}
	return db, err
}

func createTables(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, fmt.Sprintf("BEGIN; PRAGMA application_id = %d; PRAGMA user_version = %d; %s; COMMIT", applicationID, schemaVersion, schema))
	return err
}

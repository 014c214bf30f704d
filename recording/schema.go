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

	_ "modernc.org/sqlite" // the driver
)

//go:embed schema.sql
var schema string

// The database says whose it is and of which version.
const (
	applicationID = 0x76726d73 // "vrms"
	schemaVersion = 1
)

// Errors of a database that cannot be read.
var (
	ErrForeign = errors.New("not a recording of vramscope")
	ErrNewer   = errors.New("made by a newer vramscope")
)

// open opens a database with these pragmas.
func open(path, mode string, pragmas ...string) (*sql.DB, error) {
	values := url.Values{"mode": {mode}, "_pragma": append([]string{"busy_timeout(2000)"}, pragmas...)}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+values.Encode())
	if err != nil {
		return nil, fmt.Errorf("recording: %s: %w", path, err)
	}
	return db, nil
}

// check reports whose database it is: its version, 0 where it is empty.
func check(ctx context.Context, db *sql.DB, path string) (version int, err error) {
	var id, tables int
	err = db.QueryRowContext(ctx, "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_application_id, pragma_user_version").
		Scan(&id, &version, &tables)
	switch {
	case err != nil && strings.Contains(err.Error(), "file is not a database"):
		return 0, fmt.Errorf("recording: %s: %w", path, ErrForeign)
	case err != nil:
		return 0, fmt.Errorf("recording: %s: %w", path, err)
	case tables == 0:
		return 0, nil
	case id != applicationID:
		return 0, fmt.Errorf("recording: %s: %w", path, ErrForeign)
	case version > schemaVersion:
		return 0, fmt.Errorf("recording: %s: %w (schema %d, this one reads up to %d): update vramscope", path, ErrNewer, version, schemaVersion)
	}
	return version, nil
}

// create makes the tables of a new database. It is the owner's alone: the mode is
// set before anything is in it, and SQLite gives its other files the same.
func create(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

func createTables(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, fmt.Sprintf("BEGIN; PRAGMA application_id = %d; PRAGMA user_version = %d; %s; COMMIT", applicationID, schemaVersion, schema))
	return err
}

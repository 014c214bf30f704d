package recording

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// schemas has the hash of each version's schema. A change of the schema must raise schemaVersion, so
// that no program reads a database of another version.
var schemas = map[int]string{5: "6a83b5250e9a"}

func TestSchemaHasAVersion(t *testing.T) {
	var text strings.Builder
	for _, line := range strings.Split(schema, "\n") {
		if !strings.HasPrefix(line, "--") {
			fmt.Fprintln(&text, strings.TrimSpace(line))
		}
	}
	got := fmt.Sprintf("%x", sha256.Sum256([]byte(text.String())))[:12]
	if want := schemas[schemaVersion]; got != want {
		t.Errorf("the schema of version %d is %s, was %s: raise schemaVersion and add a line to schemas", schemaVersion, got, want)
	}
}

// A database of an older version is refused and stays as it is; other days are read.
func TestOlderVersionIsRefused(t *testing.T) {
	q := newQuiet(t, t.TempDir(), Options{})
	moments := q.record(5)
	q.end()
	older := filepath.Join(q.w.directory, "2026-01-01.db")
	content, err := os.ReadFile(filepath.Join(q.w.directory, fileOf(q.now)))
	if err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint32(content[60:], schemaVersion-1) // user_version, https://www.sqlite.org/fileformat.html
	if err := os.WriteFile(older, content, 0o600); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("recording: %s: made by an older vramscope (schema %d, this one reads %d): replay it with that version, of before 2026-11-24; to record, move it away", older, schemaVersion-1, schemaVersion)
	r := read(t, q.w.directory)
	has(t, r, moments)
	if oldest, _ := r.Span(); !oldest.Equal(moments[0].Time) {
		t.Errorf("it begins %s", oldest)
	}
	if problems := r.Problems(); len(problems) != 1 || problems[0] != want {
		t.Errorf("%q", problems)
	}
	if _, err := Open(older); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if _, err := openDatabase(older); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if now, err := os.ReadFile(older); err != nil || !bytes.Equal(now, content) {
		t.Errorf("it has changed, %v", err)
	}
}

// The examples of docs/recording.md return rows on a recording.
func TestExamplesOfTheDocumentation(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	content, err := os.ReadFile("../docs/recording.md")
	if err != nil {
		t.Fatal(err)
	}
	q := newQuiet(t, t.TempDir(), Options{})
	q.record(700)
	q.end()
	day := filepath.Join(q.w.directory, "2026-11-22.db")
	if err := os.Rename(filepath.Join(q.w.directory, fileOf(q.now)), day); err != nil {
		t.Fatal(err)
	}
	python := os.Getenv("VRAMSCOPE_PYTHON")
	if python == "" {
		python = needs.Tool(t, "python3")
	}
	module := func(t *testing.T, name string) string {
		t.Helper()
		out, err := exec.Command(python, "-c", "import "+name+"; print("+name+".__path__[0])").Output()
		if err != nil {
			needs.Missing(t, "%s has no module %s", python, name)
		}
		return strings.TrimSpace(string(out))
	}
	for _, c := range []struct {
		language, want string
		command        func(t *testing.T, code string) *exec.Cmd
	}{
		{"sh", "busiest", func(t *testing.T, code string) *exec.Cmd {
			needs.Tool(t, "sqlite3")
			return exec.Command("sh", "-c", code)
		}},
		{"sql", "alice", func(t *testing.T, code string) *exec.Cmd {
			module(t, "duckdb")
			extensions, err := filepath.Glob(filepath.Join(module(t, "duckdb_extension_sqlite_scanner"), "extensions", "*", "*.duckdb_extension"))
			if err != nil || len(extensions) != 1 {
				t.Fatalf("%v, %v", extensions, err)
			}
			// Installing the extension needs a network.
			code = strings.Replace(code, "INSTALL sqlite; LOAD sqlite", "LOAD '"+extensions[0]+"'", 1)
			return exec.Command(python, "-c", "import duckdb, sys\nprint(duckdb.sql(sys.argv[1]))", code)
		}},
		{"python", "gpu_index", func(t *testing.T, code string) *exec.Cmd {
			module(t, "pandas")
			return exec.Command(python, "-c", code)
		}},
	} {
		t.Run(c.language, func(t *testing.T) {
			_, code, found := strings.Cut(string(content), "\n```"+c.language+"\n")
			code, _, ended := strings.Cut(code, "\n```")
			if !found || !ended {
				t.Fatal("there is no example")
			}
			command := c.command(t, code)
			command.Dir = q.w.directory
			out, err := command.CombinedOutput()
			if err != nil || !strings.Contains(string(out), c.want) || strings.Count(string(out), "\n") < 4 {
				t.Errorf("%v\n%s\nin answer to\n%s", err, out, code)
			}
		})
	}
}

// A newer database is refused. The error has its path.
func TestNewerVersionIsNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "2026-11-24.db")
	d, err := openDatabase(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	edit(t, path, func(db *database) { db.exec(fmt.Sprint("PRAGMA user_version = ", schemaVersion+1)) })
	_, err = openDatabase(path)
	want := fmt.Sprintf("recording: %s: made by a newer vramscope (schema %d, this one reads %d): update vramscope", path, schemaVersion+1, schemaVersion)
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

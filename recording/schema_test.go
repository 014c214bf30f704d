package recording

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// The schema of each version. Whoever changes it raises schemaVersion, so that a
// database of before is supplemented.
var schemas = map[int]string{
	1: "0e160e2c54e6",
	2: "1b897f3141c0",
	3: "2470b513fac6",
	4: "e9344f4fe418",
	5: "6a83b5250e9a",
}

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

// A database of an older version is read with what it has, and a recorder adds
// what it lacks.
func TestOlderVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	q := newQuiet(t, t.TempDir(), Options{})
	moments := q.record(200)
	if err := q.w.day.database.close(); err != nil { // killed: there is a tail
		t.Fatal(err)
	}
	_ = q.w.lock.Close()
	edit(t, filepath.Join(q.w.directory, fileOf(q.now)), func(db *database) {
		for _, statement := range []string{
			"DROP TABLE gpu_minute", "DROP TABLE decisions", "ALTER TABLE processes DROP COLUMN alloc_retries", "ALTER TABLE processes DROP COLUMN runtime_version",
			"ALTER TABLE processes DROP COLUMN job_step", "ALTER TABLE process_5min DROP COLUMN held_ns", "ALTER TABLE process_5min DROP COLUMN energy_joules", "ALTER TABLE tail DROP COLUMN codec",
			"UPDATE tail SET data = substr(data, 5)", "UPDATE ticks SET codec = 1, data = substr(data, 5)", "UPDATE chunks SET codec = 1, data = substr(data, 5)",
			"ALTER TABLE ooms DROP COLUMN detail",
			"INSERT INTO events (time_ns, kind, severity, message) VALUES (" + fmt.Sprint(moments[5].Time.UnixNano()) + ", 'out_of_memory', 1, 'out of memory')",
			"PRAGMA user_version = 0",
		} {
			db.exec(statement)
		}
	})
	look := func(r *Recording) {
		t.Helper()
		has(t, r, moments)
		from, to := moments[0].Time, q.now
		if ooms, err := r.EventsBetween(from, to); err != nil || len(ooms) != 1 || ooms[0].Message != "out of memory" {
			t.Errorf("%+v, %v", ooms, err)
		}
		if p, err := r.Processes(from, to); err != nil || len(p) != 6 || p[0].AllocRetries.Known() || p[0].RuntimeVersion != "" {
			t.Errorf("%+v, %v", p, err)
		}
		n := 0
		if err := r.Readings(from, to, func(*Reading) error { n++; return nil }); err != nil || n < len(moments) {
			t.Errorf("%d readings, %v", n, err)
		}
		if problems := r.Problems(); len(problems) > 0 {
			t.Error(problems)
		}
	}
	r := read(t, q.w.directory)
	look(r)
	if minutes := all(t, moments[0].Time, q.now, r.GPUMinutes); len(minutes) != 0 {
		t.Errorf("%+v", minutes)
	}
	again := newQuiet(t, q.w.directory, Options{})
	again.now = q.now
	moments = append(moments, again.record(100)...)
	if s := again.w.State(); s.Paused {
		t.Fatalf("%+v", s)
	}
	r = again.end()
	has(t, r, moments)
	if minutes := all(t, moments[0].Time.Truncate(60e9), again.now, r.GPUMinutes); len(minutes) == 0 {
		t.Error("no minutes after the recorder added the table")
	}
}

// The examples of docs/recording.md run on a recording, and answer.
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
			// Installing it takes a network.
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

// A recorder that finds a newer database says so once, with its path.
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
	want := fmt.Sprintf("recording: %s: made by a newer vramscope (schema %d, this one reads up to %d): update vramscope", path, schemaVersion+1, schemaVersion)
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

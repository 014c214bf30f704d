package recording

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

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

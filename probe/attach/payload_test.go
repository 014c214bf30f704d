//go:build linux

package attach

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// TestPayloadInHostilePath: neither the path of the temporary directory nor the
// program's own names change what runs.
func TestPayloadInHostilePath(t *testing.T) {
	if testing.Short() {
		t.Skip("slow, and of one goroutine")
	}
	python := needs.Tool(t, "python3")
	scratch := filepath.Join(t.TempDir(), "a'); print(\"b\\\n\xff é {x} % ")
	if err := os.Mkdir(scratch, 0o700); err != nil {
		t.Skipf("this file system does not support the name: %v", err)
	}
	t.Setenv("TMPDIR", scratch)
	p, err := newPayload(born{}, &status{})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(p.directory); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its directory: %v, %v", info, err)
	}
	run := func(before string) string {
		cmd := exec.Command(python, "-c", before+"\n"+p.text+"\nprint(open, sorted(n for n in globals() if not n.startswith('__')))")
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir(), "PYTHONPATH=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if out := run("open = exec = compile = 7"); out != "7 ['compile', 'exec', 'open']\n" {
		t.Errorf("the program's names are %s", out)
	}
	if !p.begun() || p.failure() != "" {
		t.Errorf("begun %v, failure %q", p.begun(), p.failure())
	}
	// A failure is reported in the directory only.
	if err := os.WriteFile(filepath.Join(p.directory, claimName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run("import sys, types\nsys.modules['vramscope_probe'] = types.ModuleType('vramscope_probe')"); strings.Contains(out, "rror") {
		t.Errorf("the program prints %s", out)
	}
	if !p.begun() || p.failure() != "another probe is being started in it; try again" {
		t.Errorf("begun %v, failure %q", p.begun(), p.failure())
	}
	// A thread of the program that imports the module meanwhile finds all of it or nothing.
	if err := os.WriteFile(filepath.Join(p.directory, claimName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const watch = "import atexit, builtins, sys\nseen, original = [], exec\n" +
		"def watch(*arguments):\n seen.append('vramscope_probe' in sys.modules)\n original(*arguments)\n" +
		"builtins.exec = watch\natexit.register(lambda: print(seen[:2], 'vramscope_probe' in sys.modules))"
	if out := run(watch); !strings.HasSuffix(out, "[False, False] True\n") {
		t.Errorf("the program sees %s", out)
	}
	// After remove nothing happens.
	p.remove()
	if out := run("pass"); out != "<built-in function open> []\n" {
		t.Errorf("the program prints %s", out)
	}
	if _, err := os.Stat(p.directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory still exists: %v", err)
	}
}

// TestRemoveKeepsEmptyScriptForProcess: Python would report a missing script in the
// program's own output.
func TestRemoveKeepsEmptyScriptForProcess(t *testing.T) {
	p, err := newPayload(born{5, 6}, &status{})
	if err != nil {
		t.Fatal(err)
	}
	p.late = true
	p.remove()
	entries, err := os.ReadDir(p.directory)
	if err != nil || len(entries) != 1 || entries[0].Name() != scriptName {
		t.Fatalf("%v remains, %v", entries, err)
	}
	if content, err := os.ReadFile(filepath.Join(p.directory, scriptName)); err != nil || len(content) > 0 {
		t.Errorf("the script is %q, %v", content, err)
	}
	p.late = false
	p.remove()
	if _, err := os.Stat(p.directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory remains: %v", err)
	}
}

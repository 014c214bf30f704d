package daemon

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// unit is a unit of contrib/systemd with a program that is there.
func unit(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "contrib", "systemd", name))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "vramscope-daemon.service")
	text := strings.ReplaceAll(string(content), "/usr/local/bin/vramscope", program)
	if text == string(content) {
		t.Fatalf("%s starts no vramscope", name)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// withServe adds the drop-in of the exporter to a unit.
func withServe(t *testing.T, unit string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "contrib", "systemd", "vramscope-daemon.service.d", "serve.conf"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := unit + ".d"
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(content), "/usr/local/bin/vramscope", program)
	if err := os.WriteFile(filepath.Join(folder, "serve.conf"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return unit
}

func TestUnitsAreValid(t *testing.T) {
	analyze := needs.Tool(t, "systemd-analyze")
	for name, arguments := range map[string][]string{
		"vramscope-daemon.service":      {"verify", "--man=no"},
		"user/vramscope-daemon.service": {"--user", "verify", "--man=no"},
	} {
		paths := []string{unit(t, name)}
		if name == "vramscope-daemon.service" {
			paths = append(paths, withServe(t, unit(t, name)))
		}
		for _, path := range paths {
			cmd := exec.Command(analyze, append(arguments, path)...)
			cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s: %v\n%s", path, err, out)
			}
		}
	}
}

// TestRootsUnitIsHardened: systemd rates it 2.8 of 10, and 3.4 where it serves a port;
// what it may do is what it needs.
func TestRootsUnitIsHardened(t *testing.T) {
	analyze := needs.Tool(t, "systemd-analyze")
	plain, serving := unit(t, "vramscope-daemon.service"), withServe(t, unit(t, "vramscope-daemon.service"))
	for path, threshold := range map[string]string{plain: "30", serving: "36"} {
		out, err := exec.Command(analyze, "security", "--offline=true", "--threshold="+threshold, "--no-pager", path).CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

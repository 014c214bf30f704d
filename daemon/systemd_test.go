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

func TestUnitsAreValid(t *testing.T) {
	analyze := needs.Tool(t, "systemd-analyze")
	for name, arguments := range map[string][]string{
		"vramscope-daemon.service":      {"verify", "--man=no"},
		"user/vramscope-daemon.service": {"--user", "verify", "--man=no"},
	} {
		cmd := exec.Command(analyze, append(arguments, unit(t, name))...)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestRootsUnitIsHardened: systemd rates it 2.8 of 10; what it may do is what it needs.
func TestRootsUnitIsHardened(t *testing.T) {
	analyze := needs.Tool(t, "systemd-analyze")
	out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=30", "--no-pager", unit(t, "vramscope-daemon.service")).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

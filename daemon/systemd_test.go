package daemon

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/internal/needs"
)

// unit returns the path of a copy of a unit in contrib/systemd, with the test's program in place of
// vramscope.
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

// withDropIn adds a drop-in of contrib/systemd to a unit.
func withDropIn(t *testing.T, name, unit string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "contrib", "systemd", "vramscope-daemon.service.d", name))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := unit + ".d"
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(content), "/usr/local/bin/vramscope", program)
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
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
		paths := []string{unit(t, name), withDropIn(t, "servers.conf", unit(t, name))}
		if name == "vramscope-daemon.service" {
			paths = append(paths, withDropIn(t, "serve.conf", unit(t, name)))
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

// TestRootsUnitIsHardened: systemd rates the unit at most 3.0 of 10, and 3.6 if the unit serves a port
// or asks servers.
func TestRootsUnitIsHardened(t *testing.T) {
	analyze := needs.Tool(t, "systemd-analyze")
	plain := unit(t, "vramscope-daemon.service")
	serving, asking := withDropIn(t, "serve.conf", unit(t, "vramscope-daemon.service")), withDropIn(t, "servers.conf", unit(t, "vramscope-daemon.service"))
	for path, threshold := range map[string]string{plain: "30", serving: "36", asking: "36"} {
		out, err := exec.Command(analyze, "security", "--offline=true", "--threshold="+threshold, "--no-pager", path).CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// TestServersDropInOpensTheNetwork: without the drop-in neither unit reaches a server.
func TestServersDropInOpensTheNetwork(t *testing.T) {
	analyze := needs.Tool(t, "systemd-analyze")
	for _, name := range []string{"vramscope-daemon.service", "user/vramscope-daemon.service"} {
		for path, want := range map[string]bool{unit(t, name): false, withDropIn(t, "servers.conf", unit(t, name)): true} {
			out, err := exec.Command(analyze, "security", "--offline=true", "--json=short", "--no-pager", path).Output()
			var found []struct {
				Set   bool   `json:"set"`
				Field string `json:"json_field"`
			}
			if err := errors.Join(err, json.Unmarshal(out, &found)); err != nil {
				t.Fatal(err)
			}
			reaches := true
			for _, f := range found {
				if f.Set && (f.Field == "PrivateNetwork" || f.Field == "RestrictAddressFamilies_AF_INET_INET6") {
					reaches = false
				}
			}
			if reaches != want {
				t.Errorf("%s: reaches servers: %t", path, reaches)
			}
		}
	}
}

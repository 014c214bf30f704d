package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLargeFile: a file that is too large or too deeply nested is refused, and crashes nothing.
func TestLargeFile(t *testing.T) {
	for name, content := range map[string]string{
		"[": "gpus = " + strings.Repeat("[", fileSize-10), "{": "gpus = " + strings.Repeat("{a=", fileSize/4), ".": strings.Repeat("a.", fileSize/3) + "a=1",
		"#": "theme = \"light\"\n" + strings.Repeat("#", fileSize),
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s := Defaults()
		if err := s.Load(path); err == nil {
			t.Errorf("a file of %d bytes %s is accepted", len(content), name)
		}
	}
	s := Defaults()
	if err := s.Load("/dev/zero"); err == nil || !strings.Contains(err.Error(), "1 MiB") {
		t.Errorf("/dev/zero: %v", err)
	}
}

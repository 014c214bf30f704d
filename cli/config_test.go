package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"vramscope/cli/config"
)

func TestDefaultConfigurationFile(t *testing.T) {
	golden(t, "config.toml", []byte(config.DefaultFile()))
}

func TestRefusedConfigurationIsAUsageError(t *testing.T) {
	p := &program{getenv: os.Getenv}
	p.root()
	p.flags.config = filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(p.flags.config, []byte("them = \"dark\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var f *failure
	if _, err := p.settings(); !errors.As(err, &f) || f.code != exitUsage || len(f.advice) != 1 {
		t.Errorf("it says %v", err)
	}
}

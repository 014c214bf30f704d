//go:build linux

package preload_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/probe/preload"
)

func TestInstall(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "new", "vramscope")
	path, err := preload.Install(cache)
	if errors.Is(err, preload.ErrNoLibrary) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	library, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		mode os.FileMode
	}{{cache, os.ModeDir | 0o700}, {filepath.Dir(path), os.ModeDir | 0o700}, {path, 0o600}} {
		if info, err := os.Stat(c.path); err != nil || info.Mode() != c.mode {
			t.Errorf("%s is %v, want %v: %v", c.path, info.Mode(), c.mode, err)
		}
	}
	first, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := preload.Install(cache); err != nil || again != path {
		t.Errorf("second installation: %q: %v", again, err)
	}
	if second, err := os.Stat(path); err != nil || !os.SameFile(first, second) {
		t.Errorf("an intact file was rewritten: %v", err)
	}
	// A changed file is replaced.
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := preload.Install(cache); err != nil {
		t.Error(err)
	}
	if content, err := os.ReadFile(path); err != nil || !bytes.Equal(content, library) {
		t.Errorf("the repaired file has %d bytes: %v", len(content), err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".new-*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
	if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := preload.Install(cache); err == nil || !strings.Contains(err.Error(), "can be written by others") {
		t.Errorf("a directory that others can write: %v", err)
	}
	shared, err := preload.InstallShared(filepath.Join(t.TempDir(), "opt"))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(shared); err != nil || info.Mode() != 0o644 {
		t.Errorf("mode of the shared library is %v: %v", info.Mode(), err)
	}
}

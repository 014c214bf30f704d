//go:build linux

package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnsafeDirectoryIsRefused(t *testing.T) {
	base := t.TempDir()
	self := uint32(os.Geteuid())
	t.Run("a symbolic link", func(t *testing.T) {
		target := filepath.Join(base, "target")
		if err := os.Mkdir(target, 0o700); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(base, "link")
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		refuses(t, link, self, "symbolic link")
	})
	t.Run("open to others", func(t *testing.T) {
		path := filepath.Join(base, "open")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
		refuses(t, path, self, "open to others")
	})
	t.Run("a file", func(t *testing.T) {
		path := filepath.Join(base, "file")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		refuses(t, path, self, "not a directory")
	})
	t.Run("in another user's directory", func(t *testing.T) {
		if _, err := makeDirectory(filepath.Join(base, "new"), self+1); err == nil || !strings.Contains(err.Error(), "not safe") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the next one is used", func(t *testing.T) {
		second := filepath.Join(base, "second")
		server, err := Listen(ServerOptions{Directories: []string{filepath.Join(base, "link"), second}})
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Dir(server.Path()) != second {
			t.Errorf("it serves at %s", server.Path())
		}
		if err := server.socket.leave(self, os.Getpid()); err != nil {
			t.Error(err)
		}
	})
}

func refuses(t *testing.T, path string, uid uint32, reason string) {
	t.Helper()
	if _, err := makeDirectory(path, uid); err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("a server: %v", err)
	}
	if _, err := openDirectory("/", path, uid); err == nil || !strings.Contains(err.Error(), reason) {
		t.Errorf("a monitor: %v", err)
	}
}

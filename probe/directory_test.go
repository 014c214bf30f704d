//go:build linux

package probe

import (
	"errors"
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

// TestLinksDoNotLeadOutOfTheContainer: root's monitor looks below /proc/PID/root,
// where a container's root makes what it likes.
func TestLinksDoNotLeadOutOfTheContainer(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	if err := errors.Join(
		os.Mkdir(filepath.Join(outside, "vramscope-0"), 0o700),
		os.Symlink(outside, filepath.Join(root, "tmp")),
		os.Symlink("../../../../../.."+outside, filepath.Join(root, "up")),
		os.Symlink("/proc/self/root"+outside, filepath.Join(root, "magic")),
	); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/tmp/vramscope-0", "/up/vramscope-0", "/magic/vramscope-0", "/../../../../../.." + outside + "/vramscope-0"} {
		if dir, err := openDirectory(root, path, uint32(os.Geteuid())); err == nil {
			t.Errorf("%s leads to %s", path, dir.path)
			dir.close()
		}
		rootfd, err := os.Open(root)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openStepwise(int(rootfd.Fd()), path); err == nil {
			t.Errorf("step by step %s leads outside", path)
		}
		_ = rootfd.Close()
	}
	if paths, err := new(listings).spareDirectories(openRoot(root), "vramscope-", uint32(os.Geteuid())); err == nil && len(paths) > 0 {
		t.Errorf("spare directories outside: %v", paths)
	}
}

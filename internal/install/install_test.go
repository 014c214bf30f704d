package install_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"vramscope/internal/install"
)

func TestBelowMakesPrivateDirectories(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "home", "cache")
	directory, err := install.Below(cache, "python-1")
	if err != nil || directory != filepath.Join(cache, "python-1") {
		t.Fatalf("%s, %v", directory, err)
	}
	for _, path := range []string{cache, directory} {
		if info, err := os.Stat(path); err != nil || info.Mode() != os.ModeDir|0o700 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if _, err := install.Below(cache, "python-1"); err != nil {
		t.Errorf("the second time: %v", err)
	}
}

func TestDirectoryRefusesWhatOthersCanChange(t *testing.T) {
	outside := t.TempDir()
	for name, test := range map[string]struct {
		make func(path string) error
		says string
	}{
		"a link": {func(path string) error { return os.Symlink(outside, path) }, "symbolic link"},
		"a file": {func(path string) error { return os.WriteFile(path, nil, 0o600) }, "not a directory"},
		"writable by others": {func(path string) error {
			if err := os.Mkdir(path, 0o700); err != nil {
				return err
			}
			return os.Chmod(path, 0o777) // regardless of the umask
		}, "can be written by others"},
	} {
		path := filepath.Join(t.TempDir(), "directory")
		if err := test.make(path); err != nil {
			t.Fatal(err)
		}
		if err := install.Directory(path, 0o700); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %q", name, err, test.says)
		}
	}
}

func TestFileReplacesAtomically(t *testing.T) {
	path := filepath.Join(t.TempDir(), "library")
	put := func(content string) os.FileInfo {
		t.Helper()
		if err := install.File(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	first := put("one")
	if same := put("one"); !os.SameFile(first, same) {
		t.Error("the same content is written again")
	}
	if other := put("two"); os.SameFile(first, other) {
		t.Error("a file is changed that a program may have mapped")
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "two" {
		t.Errorf("it holds %q, %v", content, err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("%v are there, %v", left, err)
	}
}

// TestReplacePreparesTheFileBeforeItHasItsName: if preparing fails, the old file stays.
func TestReplacePreparesTheFileBeforeItHasItsName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("not prepared")
	for want, failed := range map[string]error{"old": failure, "new": nil} {
		err := install.Replace(path, []byte("new"), 0o600, func(draft *os.File) error {
			if before, err := os.ReadFile(path); err != nil || string(before) != "old" {
				t.Errorf("meanwhile it has %q, %v", before, err)
			}
			return failed
		})
		content, unread := os.ReadFile(path)
		if !errors.Is(err, failed) || unread != nil || string(content) != want {
			t.Errorf("%v, then %q, %v", err, content, unread)
		}
		if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".new-*")); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
}

func TestListedAsksForTheContentOnlyIfTheFileIsAnother(t *testing.T) {
	path, asked := filepath.Join(t.TempDir(), "file"), 0
	sums := fmt.Appendf(nil, "%x  other\n%x  listed\n", sha256.Sum256([]byte("b")), sha256.Sum256([]byte("a")))
	content := func() ([]byte, error) { asked++; return []byte("a"), nil }
	for i, before := range []string{"", "b", "a", strings.Repeat("a", 2<<20), "a"} {
		if before != "" {
			if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		asked = 0
		if err := install.Listed(path, "listed", sums, content, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if string(got) != "a" || err != nil || (asked == 0) != (before == "a") {
			t.Errorf("%d: asked %d times, the file has %.10q, %v", i, asked, got, err)
		}
	}
	for name, spoil := range map[string]func() error{
		"another mode": func() error { return os.Chmod(path, 0o666) },
		"a link":       func() error { return errors.Join(os.Rename(path, path+"2"), os.Symlink(path+"2", path)) },
		"a pipe":       func() error { return errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)) },
	} {
		if err := errors.Join(spoil(), install.Listed(path, "listed", sums, content, 0o600)); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if err := install.Listed(path, "unlisted", sums, func() ([]byte, error) { return nil, os.ErrInvalid }, 0o600); !errors.Is(err, os.ErrInvalid) {
		t.Errorf("without content: %v", err)
	}
}

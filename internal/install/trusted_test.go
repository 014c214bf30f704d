package install

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReplaceablePathIsRefused(t *testing.T) {
	uid, gid := uint32(os.Geteuid()), uint32(os.Getegid())
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(base, "open")
	inside, link := filepath.Join(open, "inside"), filepath.Join(base, "link")
	if err := errors.Join(os.MkdirAll(inside, 0o700), os.Symlink(inside, link)); err != nil {
		t.Fatal(err)
	}
	for mode, allowed := range map[os.FileMode]bool{0o777: false, 0o770: false, 0o755: true, 0o777 | os.ModeSticky: true} {
		if err := os.Chmod(open, mode); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]string{link: inside, inside + "/new/below": inside + "/new/below", link + "/new": inside + "/new"} {
			got, err := trusted("", path, uid, gid+1)
			if allowed && got != want || allowed != (err == nil) || err != nil && !strings.Contains(err.Error(), open+" can be written by others") {
				t.Errorf("%v, %s: %q, %v", mode, path, got, err)
			}
		}
	}
	if err := os.Symlink("loop", base+"/loop"); err != nil {
		t.Fatal(err)
	}
	if _, err := trusted("", base+"/loop", uid, gid); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("a link to itself: %v", err)
	}
	if err := os.Symlink("../base/./x", base+"/up"); err != nil {
		t.Fatal(err)
	}
	if got, err := trusted("", base+"/up/y", uid, gid); err != nil || got != filepath.Dir(base)+"/base/x/y" {
		t.Errorf("a link with dots: %q, %v", got, err)
	}
}

// TestAnotherUsersLinkIsRefused: every user can make a link in /tmp.
func TestAnotherUsersLinkIsRefused(t *testing.T) {
	base := t.TempDir()
	link := filepath.Join(base, "link")
	if err := errors.Join(os.Chmod(base, 0o777|os.ModeSticky), os.Symlink("/", link)); err != nil {
		t.Fatal(err)
	}
	if _, err := Trusted(link); err != nil {
		t.Errorf("one's own link: %v", err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make another user's link")
	}
	if err := os.Lchown(link, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, err := Trusted(link); err == nil || !strings.Contains(err.Error(), link+" belongs to another user") {
		t.Errorf("another user's link: %v", err)
	}
}

func TestAnotherUsersPathIsRefused(t *testing.T) {
	base := t.TempDir()
	other := uint32(12345)
	if os.Geteuid() != 0 {
		other = uint32(os.Geteuid()) + 1 // the user who checks; the files belong to the test's user
	} else if err := os.Chown(base, 12345, 12345); err != nil {
		t.Fatal(err)
	} else {
		other = 0
	}
	for _, path := range []string{base, base + "/new", base + "/new/below"} {
		if _, err := trusted("", path, other, other); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestPrivateGroupMayWrite(t *testing.T) {
	info := func(mode os.FileMode) os.FileInfo {
		path := filepath.Join(t.TempDir(), "x")
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 {
			if err := os.Chown(path, 12345, 12345); err != nil {
				t.Fatal(err)
			}
		}
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	uid, gid := uint32(12345), uint32(12345)
	if os.Geteuid() != 0 {
		uid, gid = uint32(os.Geteuid()), uint32(os.Getegid())
	}
	if reason := replaceable(info(0o775), uid, gid); (reason == "") != (uid == gid) {
		t.Errorf("a group with the user's number: %q", reason)
	}
	if reason := replaceable(info(0o777), uid, gid); reason == "" {
		t.Error("everybody may write")
	}
	if reason := replaceable(info(0o775), uid, gid+1); reason == "" {
		t.Error("a group that is not the user's own may write")
	}
}

// TestTrustedBelow: links are followed within the same root directory.
func TestTrustedBelow(t *testing.T) {
	root := t.TempDir()
	if err := errors.Join(os.MkdirAll(root+"/var/tmp", 0o700), os.Symlink("/../var", root+"/absolute"), os.Symlink("../../var/tmp", root+"/tmp")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/tmp", "/absolute/tmp", "/../tmp"} {
		if got, err := TrustedBelow(root, path); err != nil || got != "/var/tmp" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}

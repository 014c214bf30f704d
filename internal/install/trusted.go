package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Trusted resolves the symbolic links in a directory's path, whose end need not be
// there yet. It refuses a path of which another user can replace any part: programs
// run by name what lies there. Every part must belong to root or this user, and
// others must not be able to write there, unless it is sticky.
func Trusted(path string) (string, error) {
	return trusted(path, uint32(os.Geteuid()), uint32(os.Getegid()))
}

func trusted(path string, uid, gid uint32) (string, error) {
	path, err := resolve(path)
	if err != nil {
		return "", err
	}
	for _, at := range upTo(path) {
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil // who makes it calls Trusted again: a sticky directory is everybody's
		}
		if err != nil {
			return "", err
		}
		if reason := replaceable(info, uid, gid); reason != "" {
			return "", fmt.Errorf("files in %s could be replaced, since %s %s", path, at, reason)
		}
	}
	return path, nil
}

// resolve follows the symbolic links in the part of a path that is there.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	below := ""
	for at := path; ; at = filepath.Dir(at) {
		found, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(found, below), nil
		}
		if _, link := os.Lstat(at); link == nil || !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return "", err // a link that leads nowhere, for example
		}
		below = filepath.Join(filepath.Base(at), below)
	}
}

// upTo is a path's directories, from the root, and the path.
func upTo(path string) []string {
	if path == filepath.Dir(path) {
		return []string{path}
	}
	return append(upTo(filepath.Dir(path)), path)
}

// replaceable says why another user could replace what is in a directory; "": nobody can.
func replaceable(info fs.FileInfo, uid, gid uint32) string {
	owner, ok := info.Sys().(*syscall.Stat_t)
	writable := info.Mode().Perm() & 0o022
	if ok && writable == 0o020 && owner.Gid == gid && gid == uid && uid != 0 {
		// A group whose number is the user's is the user's own: where there are such
		// groups, the usual umask is 002.
		writable = 0
	}
	switch {
	case !ok || owner.Uid != uid && owner.Uid != 0 && !(owner.Uid == overflow && inUserNamespace()):
		return "belongs to another user"
	case writable != 0 && info.Mode()&fs.ModeSticky == 0:
		return fmt.Sprintf("can be written by others (mode %04o): chmod go-w it", info.Mode().Perm())
	default:
		return ""
	}
}

// overflow is the owner that a user namespace shows for users outside of it, such
// as the real root in a rootless container.
// Source: https://man7.org/linux/man-pages/man7/user_namespaces.7.html
const overflow = 65534

func inUserNamespace() bool {
	const everybody = "4294967295"
	content, err := os.ReadFile("/proc/self/uid_map")
	fields := strings.Fields(string(content))
	return err == nil && (len(fields) != 3 || fields[2] != everybody)
}

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

// Trusted resolves the symbolic links in a directory's path, whose last parts need not exist yet.
// It refuses a path if another user can replace any part of it: every directory and link on the way
// must belong to root or this user, and others must not be able to write in the directories, unless
// they are sticky.
func Trusted(path string) (string, error) { return TrustedBelow("", path) }

// TrustedBelow does what Trusted does for a path in another root directory: a process's
// /proc/PID/root. The result is a path in that root directory, too.
func TrustedBelow(root, path string) (string, error) {
	return trusted(root, path, uint32(os.Geteuid()), uint32(os.Getegid()))
}

func trusted(root, path string, uid, gid uint32) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	done, names := "/", parts(absolute)
	for links := 0; ; names = names[1:] {
		info, err := os.Lstat(root + done)
		if errors.Is(err, fs.ErrNotExist) {
			// The caller makes it and calls Trusted again, because others may be first.
			return filepath.Join(done, filepath.Join(names...)), nil
		}
		if err != nil {
			return "", err
		}
		if reason := replaceable(info, uid, gid); reason != "" {
			return "", fmt.Errorf("%s is not safe from other users: %s %s", root+path, root+done, reason)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(root + done)
			if links++; err != nil || links > mostLinks {
				return "", fmt.Errorf("%s: %w", path, errors.Join(err, syscall.ELOOP))
			}
			if done = filepath.Dir(done); filepath.IsAbs(target) {
				done = "/"
			}
			names = append(append([]string{""}, parts(target)...), names...)
		}
		if len(names) == 0 {
			return done, nil
		}
		done = filepath.Join(done, names[0])
	}
}

// mostLinks is the kernel's limit on symbolic links in a path.
const mostLinks = 40

func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// replaceable returns why another user could replace a link, or the entries of a directory. It
// returns "" if no other user can.
func replaceable(info fs.FileInfo, uid, gid uint32) string {
	owner, ok := info.Sys().(*syscall.Stat_t)
	writable := info.Mode().Perm() & 0o022
	if ok && writable == 0o020 && owner.Gid == gid && gid == uid && uid != 0 {
		// A group with the same number as the user is the user's own: if there are such
		// groups, the usual umask is 002.
		writable = 0
	}
	switch {
	case !ok, owner.Uid != uid && owner.Uid != 0 && (owner.Uid != overflow || !inUserNamespace()):
		return "belongs to another user"
	case writable != 0 && info.Mode()&(fs.ModeSticky|fs.ModeSymlink) == 0:
		return fmt.Sprintf("can be written by others (mode %04o): chmod go-w it", info.Mode().Perm())
	default:
		return ""
	}
}

// overflow is the owner that a user namespace shows for users outside the namespace, such as the
// real root in a rootless container. Source:
// https://man7.org/linux/man-pages/man7/user_namespaces.7.html
const overflow = 65534

func inUserNamespace() bool {
	const everybody = "4294967295"
	content, err := os.ReadFile("/proc/self/uid_map")
	fields := strings.Fields(string(content))
	return err == nil && (len(fields) != 3 || fields[2] != everybody)
}

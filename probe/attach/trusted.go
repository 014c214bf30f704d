package attach

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// trusted resolves a directory's path. It refuses a path of which another user can
// replace any part: the process runs what it finds there by name.
func trusted(directory string, uid uint32) (string, error) {
	path, err := filepath.Abs(directory)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", fmt.Errorf("temporary directory: %w", err)
	}
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return "", fmt.Errorf("temporary directory: %w", err)
		}
		reason := ""
		if !ownedBy(info, uid) && !ownedBy(info, 0) && !unmapped(info) {
			reason = "belongs to another user"
		} else if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
			reason = "is writable by others"
		}
		if reason != "" {
			return "", fmt.Errorf("files in %s could be replaced, since %s %s: set TMPDIR to a directory of your own", path, at, reason)
		}
		if at == filepath.Dir(at) {
			return path, nil
		}
	}
}

// unmapped reports whether the owner is a user outside this user namespace, such as
// the real root in a rootless container.
// Source: https://man7.org/linux/man-pages/man7/user_namespaces.7.html
func unmapped(info fs.FileInfo) bool {
	const overflow, everybody = 65534, "4294967295"
	content, err := os.ReadFile("/proc/self/uid_map")
	fields := strings.Fields(string(content))
	return ownedBy(info, overflow) && err == nil && (len(fields) != 3 || fields[2] != everybody)
}

func ownedBy(info fs.FileInfo, uid uint32) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == uid
}

package attach

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// trusted is a directory's path without links, where nobody but root and the user
// can put something else in the place of what lies there: the process opens it by
// its name and runs it. So it holds for all that the path leads through.
func trusted(directory string, uid uint32) (string, error) {
	path, err := filepath.Abs(directory)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", fmt.Errorf("the temporary directory: %w", err)
	}
	for at := path; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			return "", fmt.Errorf("the temporary directory: %w", err)
		}
		reason := ""
		if !ownedBy(info, uid) && !ownedBy(info, 0) && !unmapped(info) {
			reason = "is another user's"
		} else if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
			reason = "can be written by others"
		}
		if reason != "" {
			return "", fmt.Errorf("what is put into %s could be replaced, as %s %s: set TMPDIR to a directory of your own", path, at, reason)
		}
		if at == filepath.Dir(at) {
			return path, nil
		}
	}
}

// unmapped reports whether that is what the kernel calls all users that are none
// in this namespace, such as the real root in a container without root.
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

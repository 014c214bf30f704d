package preload

import "golang.org/x/sys/unix"

// hasCapabilities reports whether a program's file gives it capabilities.
func hasCapabilities(path string) bool {
	size, err := unix.Getxattr(path, "security.capability", nil)
	return err == nil && size > 0
}

// executable reports whether a file's filesystem is not mounted noexec. If that is
// unknown it returns true, and the loader reports a failure.
func executable(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) != nil || fs.Flags&unix.ST_NOEXEC == 0
}

package preload

import "golang.org/x/sys/unix"

// hasCapabilities reports whether a program's file gives it capabilities.
func hasCapabilities(path string) bool {
	size, err := unix.Getxattr(path, "security.capability", nil)
	return err == nil && size > 0
}

// executable reports whether programs can be mapped from where a file is: not
// from a filesystem that is mounted noexec. What is not known is taken for
// good: the loader will say.
func executable(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) != nil || fs.Flags&unix.ST_NOEXEC == 0
}

package preload

import (
	"path/filepath"
	"slices"
	"strings"
)

// companions are the parts of glibc that the library needs besides libc.so.6.
// Since glibc 2.34 they are empty, but a loader that does not find them does not
// start the program.
var companions = []string{"libpthread.so.0", "libdl.so.2"}

// missingCompanion returns a companion that a program's loader would not find, as
// in a minimal container image; "" if there is none, or the loader cannot be read.
// They lie beside the loader or, for the system's loader, in the system's library
// directories.
func missingCompanion(loader string) string {
	real, err := filepath.EvalSymlinks(loader)
	if err != nil {
		return ""
	}
	directories := []string{filepath.Dir(loader), filepath.Dir(real)}
	if strings.HasPrefix(real, "/lib") || strings.HasPrefix(real, "/usr/lib") {
		for _, pattern := range []string{"/lib64", "/usr/lib64", "/lib", "/usr/lib", "/lib/*-linux-gnu", "/usr/lib/*-linux-gnu"} {
			more, err := filepath.Glob(pattern)
			if err != nil {
				continue
			}
			directories = append(directories, more...)
		}
	}
	for _, name := range companions {
		if !slices.ContainsFunc(directories, func(directory string) bool { return exists(filepath.Join(directory, name)) }) {
			return name
		}
	}
	return ""
}

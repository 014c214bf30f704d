package preload

import (
	"path/filepath"
	"slices"
	"strings"
)

// companions are parts of glibc that the library asks for beside libc.so.6:
// before glibc 2.34 what it needs is in them, since then they are empty. A
// loader that does not find them does not start the program.
var companions = []string{"libpthread.so.0", "libdl.so.2"}

// missingCompanion is one that a program's loader would not find, as in an
// image of which all has been left out that its own program does not use; ""
// where all are there, or the loader cannot be looked at. They lie beside the
// loader, or, with the system's own one, where the system has its libraries.
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

package install

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Bases returns the places for a base directory of this user, the best first: $variable, then below
// $HOME, then below the home directory that the password database names. The last serves root under
// sudo -E, where HOME is another user's, and services, which have no HOME. Source:
// https://specifications.freedesktop.org/basedir-spec/latest/
func Bases(getenv func(string) string, variable, below string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if base := getenv(variable); filepath.IsAbs(base) && !yield(filepath.Clean(base)) {
			return
		}
		home := getenv("HOME")
		if filepath.IsAbs(home) && !yield(filepath.Join(home, below)) {
			return
		}
		// A directory service may be slow, so it is asked last.
		account, err := user.LookupId(strconv.Itoa(os.Geteuid()))
		if err == nil && filepath.IsAbs(account.HomeDir) && filepath.Clean(account.HomeDir) != filepath.Clean(home) {
			yield(filepath.Join(account.HomeDir, below))
		}
	}
}

// ErrNoHome says that this user has no home directory.
var ErrNoHome = errors.New("HOME is not set, and the password database names no home directory")

// Own returns the first base that is in a directory of this user or of root, or else the first one.
// So root leaves no files in the user's home under sudo -E.
func Own(bases iter.Seq[string]) (string, error) {
	first := ""
	for base := range bases {
		if first == "" {
			first = base
		}
		var st unix.Stat_t
		if unix.Stat(existing(base), &st) == nil && (st.Uid == uint32(os.Geteuid()) || st.Uid == 0) {
			return base, nil
		}
	}
	if first == "" {
		return "", ErrNoHome
	}
	return first, nil
}

// existing returns the part of a path that is there.
func existing(path string) string {
	for path != filepath.Dir(path) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path
		}
		path = filepath.Dir(path)
	}
	return path
}

// Possible returns the existing part of a cache's path. It refuses a cache in which Below could not
// make anything.
func Possible(cache string) (string, error) {
	path, err := Trusted(cache)
	if err != nil {
		return "", err
	}
	path = existing(path)
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return path, Room(path, path)
}

// Room returns an error that contains name if a directory's file system is full. It ignores quotas,
// and returns nil for a file system that it cannot ask.
func Room(directory, name string) error {
	var fs unix.Statfs_t
	if unix.Statfs(directory, &fs) != nil || fs.Blocks == 0 {
		return nil
	}
	free := fs.Bavail
	if os.Geteuid() == 0 {
		free = fs.Bfree
	}
	if free == 0 || fs.Files > 0 && fs.Ffree == 0 {
		return fmt.Errorf("%s: %w", name, unix.ENOSPC)
	}
	return nil
}

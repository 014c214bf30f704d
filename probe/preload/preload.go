package preload

import (
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"vramscope/internal/install"
)

// FileName is the name of the installed library.
const FileName = "libvramscope.so"

// ErrNoLibrary means that there is no library for this system.
var ErrNoLibrary = errors.New("there is no library to preload for this system: it is for Linux on amd64 and arm64")

//go:embed SHA256SUMS
var sums []byte

// directoryName contains a hash of sums, so that running programs keep the version that they started
// with.
func directoryName() string {
	sum := sha256.Sum256(sums)
	return fmt.Sprintf("preload-%x", sum[:6])
}

// Install writes the library to a directory below cache, making both if needed, and returns its
// path. Only this user can write to either: whoever can write there runs code in the programs.
func Install(cache string) (string, error) {
	if err := preloadable(filepath.Join(cache, directoryName(), FileName)); err != nil {
		return "", err
	}
	directory, err := install.Below(cache, directoryName())
	if err != nil {
		return "", fmt.Errorf("make the directory of the native probe: %w", err)
	}
	return put(directory, 0o600)
}

// InstallShared writes the library to a directory that every user can read, as in a container image,
// and returns the library's path.
func InstallShared(directory string) (string, error) {
	if err := preloadable(filepath.Join(directory, FileName)); err != nil {
		return "", err
	}
	if err := install.Shared(directory); err != nil {
		return "", fmt.Errorf("make the directory of the native probe: %w", err)
	}
	return put(directory, 0o644)
}

// Usable returns an error if Install would refuse cache. It changes nothing.
func Usable(cache string) error {
	if err := preloadable(filepath.Join(cache, directoryName(), FileName)); err != nil {
		return err
	}
	existing, err := install.Possible(cache)
	if err != nil {
		return err
	}
	return runnable(existing)
}

// preloadable refuses a path that the loader would split in LD_PRELOAD, or any if there is no library.
// Source: https://man7.org/linux/man-pages/man8/ld.so.8.html
func preloadable(path string) error {
	switch {
	case packed == nil:
		return ErrNoLibrary
	case strings.ContainsAny(path, ": \t\n"):
		return fmt.Errorf("%s has a colon or a blank in it, which LD_PRELOAD cannot hold", path)
	}
	return nil
}

// runnable refuses a directory on a filesystem that is mounted noexec. If it cannot find out, it
// returns nil, and the loader reports a failure.
func runnable(directory string) error {
	var fs unix.Statfs_t
	if unix.Statfs(directory, &fs) == nil && fs.Flags&unix.ST_NOEXEC != 0 {
		return fmt.Errorf("%s is on a filesystem that is mounted noexec: nothing can be preloaded from there", directory)
	}
	return nil
}

func put(directory string, mode fs.FileMode) (string, error) {
	if err := runnable(directory); err != nil {
		return "", err
	}
	path := filepath.Join(directory, FileName)
	unpacked := func() ([]byte, error) { return install.Unpack(packed) }
	if err := install.Listed(path, "libvramscope-"+runtime.GOARCH+".so", sums, unpacked, mode); err != nil {
		return "", fmt.Errorf("write the native probe: %w", err)
	}
	return path, nil
}

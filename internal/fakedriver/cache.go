package fakedriver

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
)

// cacheDirectory returns where built libraries are kept: in the user's cache or, if that cannot
// be made, in a directory of the user's own under os.TempDir.
func cacheDirectory() (string, error) {
	if cache, err := os.UserCacheDir(); err == nil {
		directory := filepath.Join(cache, "vramscope", "fakedriver")
		if os.MkdirAll(directory, 0o700) == nil {
			return directory, nil
		}
	}
	directory := filepath.Join(os.TempDir(), "vramscope-fakedriver-"+strconv.Itoa(os.Getuid()))
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return "", fmt.Errorf("fakedriver: cache: %w", err)
	}
	info, err := os.Lstat(directory)
	if err != nil {
		return "", fmt.Errorf("fakedriver: cache: %w", err)
	}
	// A library that another user could have put there must not be loaded.
	if owner, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || int(owner.Uid) != os.Getuid() {
		return "", fmt.Errorf("fakedriver: cache: %s is not a directory of this user", directory)
	}
	return directory, nil
}

// moduleRoot returns the folder of the module with the sources of this package, "" if it is not
// there, for instance in a program that was built with -trimpath.
func moduleRoot() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return ""
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		return ""
	}
	return root
}

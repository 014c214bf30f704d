// Package preload is the probe of native CUDA programs: a small C library that
// is loaded in front of a program, and what brings it there.
//
//	shim/*.c ── scripts/build-preload ── libvramscope-*.so, embedded
//	                                          ↓ Install
//	vramscope run ── LD_PRELOAD ── program ── libvramscope.so ── libcuda
//	                                          ↓ socket, vramscope/1
//	                                        monitor
//
// The library is in the repository both as source and built; CI checks that
// the one gives the other byte for byte. shim/shim.h says how it works,
// docs/preload.md what it sees and what it costs.
package preload

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"vramscope/internal/install"
)

// FileName is what the library is called where it is installed.
const FileName = "libvramscope.so"

// ErrNoLibrary says that there is no such library for this system.
var ErrNoLibrary = errors.New("there is no library to preload for this system: it is for Linux on amd64 and arm64")

// Library is the library for the system that this program was built for, nil
// where there is none. It must not be changed.
func Library() []byte { return library }

// directoryName is the name of the library's directory. It tells its content:
// programs that run with an older one keep it.
func directoryName() string {
	sum := sha256.Sum256(library)
	return "preload-" + hex.EncodeToString(sum[:])[:12]
}

// Install puts the library into a directory, which it makes, below cache, which
// it makes too, and returns the library's path. Both are for this user alone:
// whoever can write there runs code in the programs. What is there already is
// not written again.
func Install(cache string) (string, error) {
	if err := holdable(filepath.Join(cache, directoryName(), FileName)); err != nil {
		return "", err
	}
	directory, err := install.Below(cache, directoryName())
	if err != nil {
		return "", fmt.Errorf("make the directory of the native probe: %w", err)
	}
	return put(directory, 0o600)
}

// InstallShared puts the library into a directory that every user can read, as
// in the image of a container, and returns its path.
func InstallShared(directory string) (string, error) {
	if err := holdable(filepath.Join(directory, FileName)); err != nil {
		return "", err
	}
	if err := install.Directory(directory, 0o755); err != nil {
		return "", fmt.Errorf("make the directory of the native probe: %w", err)
	}
	return put(directory, 0o644)
}

// Usable says what would keep Install from working below a directory. It changes
// nothing.
func Usable(cache string) error {
	if err := holdable(filepath.Join(cache, directoryName(), FileName)); err != nil {
		return err
	}
	for !exists(cache) && cache != filepath.Dir(cache) {
		cache = filepath.Dir(cache)
	}
	return runnable(cache)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// holdable checks a path for what LD_PRELOAD cannot hold: the loader splits
// it there, and knows no quotes.
// Source: https://man7.org/linux/man-pages/man8/ld.so.8.html
func holdable(path string) error {
	switch {
	case library == nil:
		return ErrNoLibrary
	case strings.ContainsAny(path, ": \t\n"):
		return fmt.Errorf("%s has a colon or a blank in it, which LD_PRELOAD cannot hold", path)
	}
	return nil
}

func runnable(directory string) error {
	if !executable(directory) {
		return fmt.Errorf("%s is on a filesystem that is mounted noexec: nothing can be preloaded from there", directory)
	}
	return nil
}

func put(directory string, mode fs.FileMode) (string, error) {
	if err := runnable(directory); err != nil {
		return "", err
	}
	path := filepath.Join(directory, FileName)
	if err := install.File(path, library, mode); err != nil {
		return "", fmt.Errorf("write the native probe: %w", err)
	}
	return path, nil
}

package install

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"vramscope/internal/bounded"
)

// packedMost limits an embedded file once it is unpacked, in bytes.
const packedMost = 1 << 20

// Unpack unpacks a file that is embedded in gzip's format.
func Unpack(packed []byte) ([]byte, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return bounded.First(unpacked, packedMost)
}

// Directory makes a directory if there is none. It refuses a symbolic link, another user's
// directory, and a directory in which others can write.
func Directory(path string, mode fs.FileMode) error {
	if err := os.Mkdir(path, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is a symbolic link, or not a directory", path)
	case !ok || int(owner.Uid) != os.Geteuid():
		return fmt.Errorf("%s is another user's", path)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s can be written by others (mode %04o); chmod go-w it", path, info.Mode().Perm())
	}
	return nil
}

// Below makes a directory in a cache, with the cache and its parents if they are missing, and returns
// its path. Only this user can enter the directories that it makes. No other user can write in the
// cache or in the directory, or replace them.
func Below(cache, name string) (string, error) {
	if _, err := Trusted(cache); err != nil {
		return "", err // before anything is made there
	}
	if err := os.MkdirAll(filepath.Dir(cache), 0o700); err != nil {
		return "", err
	}
	directory := filepath.Join(cache, name)
	for _, path := range []string{cache, directory} {
		if err := Directory(path, 0o700); err != nil {
			return "", err
		}
	}
	_, err := Trusted(directory) // a parent may have come meanwhile
	return directory, err
}

// Shared makes a directory that every user can read, and that no other user can
// replace. Its parent must be there.
func Shared(directory string) error {
	if _, err := Trusted(directory); err != nil {
		return err
	}
	if err := Directory(directory, 0o755); err != nil {
		return err
	}
	_, err := Trusted(directory)
	return err
}

// File writes a file, unless it exists with the same content. It writes atomically, because several
// programs may start at once.
func File(path string, content []byte, mode fs.FileMode) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	return Replace(path, content, mode, func(*os.File) error { return nil })
}

// Listed writes a file whose name and hash are a line of sums, the output of sha256sum. It asks for
// the content only if there is no file at path with a hash from sums for that name, and with mode.
func Listed(path, name string, sums []byte, content func() ([]byte, error), mode fs.FileMode) error {
	if info, err := os.Lstat(path); err == nil && info.Mode() == mode && info.Size() <= packedMost { // no link, no pipe
		if old, err := os.ReadFile(path); err == nil && bytes.Contains(sums, fmt.Appendf(nil, "%x  %s\n", sha256.Sum256(old), name)) {
			return nil
		}
	}
	whole, err := content()
	if err != nil {
		return err
	}
	return Replace(path, whole, mode, func(*os.File) error { return nil })
}

// Replace writes a file atomically. It runs prepare on the open file before the file gets its name:
// afterwards another user could make that name lead elsewhere.
func Replace(path string, content []byte, mode fs.FileMode, prepare func(*os.File) error) error {
	draft, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	_, err = draft.Write(content)
	err = errors.Join(err, prepare(draft), draft.Chmod(mode), draft.Close())
	if err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		_ = os.Remove(draft.Name()) // the draft is not needed
	}
	return err
}

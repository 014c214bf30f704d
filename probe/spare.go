package probe

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// maxSpares is how many spare directories of a user are looked into: processes make
// one only where they find none.
const maxSpares = 8

// spareDirectory opens the user's spare directory in parent, and makes one if there
// is none.
func spareDirectory(parent string, uid uint32) (*directory, error) {
	prefix := sparePrefix(int(uid))
	dir, err := os.OpenFile(parent, unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	if found := sparesIn(dir, namesWith(dir, prefix), prefix, uid); len(found) > 0 {
		return makeDirectory(filepath.Join(parent, found[0]), uid)
	}
	for range 10 {
		name := fmt.Sprintf("%s%016x", prefix, rand.Uint64())
		if unix.Mkdirat(int(dir.Fd()), name, 0o700) == nil {
			return makeDirectory(filepath.Join(parent, name), uid)
		}
	}
	return nil, fmt.Errorf("no directory %s can be made", filepath.Join(parent, prefix+"*"))
}

// spareDirectories are the paths of a user's spare directories below root, which is a
// process's. Their prefix is the process's, their owner this program's.
func (l *listings) spareDirectories(root root, prefix string, owner uint32) ([]string, error) {
	fd, err := root.open(temporary)
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(fd), temporary)
	defer func() { _ = dir.Close() }()
	var paths []string
	for _, name := range sparesIn(dir, l.in(dir), prefix, owner) {
		paths = append(paths, filepath.Join(temporary, name))
	}
	return paths, nil
}

// sparesIn are those of the names in a directory that have a prefix and are
// directories of a user's alone: anybody can make others.
func sparesIn(dir *os.File, names []string, prefix string, owner uint32) []string {
	var found []string
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		var st unix.Stat_t
		err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == nil && st.Uid == owner && st.Mode&(unix.S_IFMT|0o077) == unix.S_IFDIR && len(found) < maxSpares {
			found = append(found, name)
		}
	}
	return found
}

// namesWith lists the names in a directory that begin with prefix.
func namesWith(dir *os.File, prefix string) []string {
	const batch = 1024
	var found []string
	for range maxTemporaryNames / batch {
		names, err := dir.Readdirnames(batch)
		for _, name := range names {
			if strings.HasPrefix(name, prefix) {
				found = append(found, name)
			}
		}
		if err != nil {
			break
		}
	}
	return found
}

// spare returns a process's spare directories.
func (f *Finder) spare(root root, inner int, uid uint32) []string {
	prefix := sparePrefix(inner)
	paths, err := f.listings.spareDirectories(root, prefix, uid)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		own := openRoot("/")
		defer own.close()
		paths, _ = f.listings.spareDirectories(own, prefix, uid) // as openIn does; none where it fails
	}
	return paths
}

package probe

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// directory is an open directory of sockets whose owner and mode have been checked. All access goes
// through the descriptor, so that later changes of the path do not matter.
type directory struct {
	path  string
	file  *os.File
	uid   uint32
	gid   uint32
	stamp stamp
}

func (d *directory) close() { _ = d.file.Close() } // only read

// makeDirectory opens a process's own directory of sockets, and creates it if necessary. The parent
// must be the user's own or sticky: otherwise another user could replace the directory. Under sudo
// $XDG_RUNTIME_DIR may belong to the user who called sudo, and is refused.
func makeDirectory(path string, uid uint32) (*directory, error) {
	dirfd, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Dir(path), err)
	}
	defer func() { _ = unix.Close(dirfd) }()
	var st unix.Stat_t
	if err := unix.Fstat(dirfd, &st); err != nil {
		return nil, fmt.Errorf("stat %s: %w", filepath.Dir(path), err)
	}
	if st.Uid != uid && st.Mode&unix.S_ISVTX == 0 {
		return nil, fmt.Errorf("%s belongs to user %d: not safe for sockets of user %d", filepath.Dir(path), st.Uid, uid)
	}
	name := filepath.Base(path)
	if err := unix.Mkdirat(dirfd, name, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return nil, fmt.Errorf("make %s: %w", path, err)
	}
	fd, err := unix.Openat(dirfd, name, directoryFlags, 0)
	if err != nil {
		return nil, notDirectory(path, err)
	}
	return checked(fd, path, uid)
}

// openDirectory opens a directory of sockets at a path that this program sees.
func openDirectory(path string, owner uint32) (*directory, error) {
	root := openRoot("/")
	defer root.close()
	return root.directory(path, owner)
}

// root is the root directory of a process or of this program. If it could not be opened, err says why.
type root struct {
	path string
	fd   int
	err  error
}

func openRoot(path string) root {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		err = fmt.Errorf("open %s: %w", path, err)
	}
	return root{path, fd, err}
}

func (r root) close() {
	if r.err == nil {
		_ = unix.Close(r.fd)
	}
}

func (r root) directory(path string, owner uint32) (*directory, error) {
	fd, err := r.open(path)
	if err != nil {
		return nil, err
	}
	return checked(fd, filepath.Join(r.path, path), owner)
}

// open opens the directory path below the root. No symbolic link can lead out of the root.
func (r root) open(path string) (int, error) {
	if r.err != nil {
		return -1, r.err
	}
	fd, err := unix.Openat2(r.fd, path, &unix.OpenHow{
		Flags:   directoryFlags,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	})
	// This is Linux before 5.6, or a container whose seccomp filter does not allow openat2.
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		fd, err = openStepwise(r.fd, path)
	}
	if err != nil {
		return -1, notDirectory(filepath.Join(r.path, path), err)
	}
	return fd, nil
}

// ownerAt returns the owner of a path, without following a link; false after an error.
func ownerAt(path string) (uint32, bool) {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return 0, false
	}
	return st.Uid, true
}

const directoryFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openStepwise opens path below rootfd without following any link.
func openStepwise(rootfd int, path string) (int, error) {
	fd := rootfd
	for part := range strings.SplitSeq(strings.Trim(filepath.Clean(path), "/"), "/") {
		if part == ".." {
			return -1, unix.EINVAL
		}
		next, err := unix.Openat(fd, part, directoryFlags, 0)
		if fd != rootfd {
			_ = unix.Close(fd)
		}
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

// ErrTaken means that something else has the name of a directory of sockets. Probes then serve in
// the next directory that Place tries.
var ErrTaken = errors.New("refused")

// notDirectory wraps an error of open. It rewords the two errors that a symbolic link causes.
func notDirectory(path string, err error) error {
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("%s is a symbolic link, or not a directory: %w", path, ErrTaken)
	}
	return fmt.Errorf("open %s: %w", path, err)
}

// checked makes a directory of a descriptor, if its owner and mode are right; otherwise it closes
// the descriptor.
func checked(fd int, path string, owner uint32) (*directory, error) {
	d := &directory{path: path, file: os.NewFile(uintptr(fd), path)}
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	switch {
	case err != nil:
		err = fmt.Errorf("stat %s: %w", path, err)
	case st.Uid != owner:
		err = fmt.Errorf("%s belongs to user %d, not to user %d: %w", path, st.Uid, owner, ErrTaken)
	case st.Mode&0o077 != 0:
		err = fmt.Errorf("%s is open to others (mode %04o): refused; chmod 700 it", path, st.Mode&0o7777)
	default:
		d.uid, d.gid = st.Uid, st.Gid
		d.stamp = stampOf(&st)
		return d, nil
	}
	d.close()
	return nil, err
}

// sockets lists the names of sockets and records: at most maxNames in all, and at most maxRecords
// records. It stops after maxNamesRead names of any kind.
func (d *directory) sockets() (found []string, err error) {
	const batch = 1024
	records := 0
	for read := 0; read < maxNamesRead; {
		names, err := d.file.Readdirnames(batch)
		read += len(names)
		for _, name := range names {
			socket, ok := socketOf(name)
			if !ok {
				socket = name
			}
			if _, _, valid := parseSocketName(socket); !valid {
				continue
			}
			if ok {
				if records++; records > maxRecords {
					continue
				}
			}
			if len(found) == maxNames {
				return found, nil
			}
			found = append(found, name)
		}
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return found, fmt.Errorf("list %s: %w", d.path, err)
		}
	}
	return found, nil
}

// checkSocket returns an error for anything but a socket of the directory's owner.
func (d *directory) checkSocket(name string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(int(d.file.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return fmt.Errorf("stat %s: %w", filepath.Join(d.path, name), err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK || st.Uid != d.uid {
		return fmt.Errorf("%s is not a socket of user %d: refused", filepath.Join(d.path, name), d.uid)
	}
	return nil
}

func (d *directory) remove(name string) error {
	if err := unix.Unlinkat(int(d.file.Fd()), name, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", filepath.Join(d.path, name), err)
	}
	return nil
}

// maxSpares limits how many spare directories of a user are searched. A process makes one only if
// it finds none.
const maxSpares = 8

// spareDirectory opens the user's spare directory in parent, or makes one.
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

// spareDirectories returns the paths of a user's spare directories below a process's root. The prefix
// has the user's ID as the process sees it; owner is the ID that this program sees.
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

// sparesIn returns the names of the user's private directories that begin with prefix, up to
// maxSpares. Anybody can make other directories with such names.
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

// namesWith lists the names in a directory that begin with prefix. It reads up to maxTemporaryNames.
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
		paths, _ = f.listings.spareDirectories(own, prefix, uid) // none if it fails
	}
	return paths
}

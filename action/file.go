package action

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/install"
)

// appendLine appends a line in one write: other vramscopes may append too.
func appendLine(directory string, line []byte) error {
	file, err := openLog(directory)
	if err != nil {
		return err
	}
	lock(int(file.Fd()))
	if endsInside(file) {
		line = append([]byte{'\n'}, line...)
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// openLog opens the log, or makes it. The log must be a regular file of this user, with mode 0600 and
// no other name, in a directory that only this user can write.
func openLog(directory string) (*os.File, error) {
	dir, err := openDirectory(directory, true)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(dir) }()
	path := filepath.Join(directory, LogName)
	fd, err := unix.Openat(dir, LogName, unix.O_RDWR|unix.O_APPEND|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, openError(path, err)
	}
	file := os.NewFile(uintptr(fd), path)
	var stat unix.Stat_t
	if err = unix.Fstat(fd, &stat); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	} else {
		err = checkFile(path, &stat)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// nextLines is the room, in bytes, that is kept for the next lines.
const nextLines = 16 << 10

// reserve makes the file system keep room after the end, so that a disk that fills up later still has
// room for lines. If the file system cannot do that, reserve checks the free space instead.
func reserve(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	err = unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_KEEP_SIZE, info.Size(), nextLines)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		return install.Room(reach(int(file.Fd())), file.Name())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file.Name(), err)
	}
	return nil
}

// lock keeps other vramscopes from writing until the file is closed: a line that they have half
// written would look like one that a full disk cut off. After a tenth of a second it gives up.
func lock(fd int) {
	for range 100 {
		if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
			return // some file systems have no locks
		}
		time.Sleep(time.Millisecond)
	}
}

// checkLog returns nil if appendLine would find the log, or could make it.
func checkLog(directory string) error {
	dir, err := openDirectory(directory, false)
	if errors.Is(err, errCanBeMade) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(dir) }()
	var stat unix.Stat_t
	switch err := unix.Fstatat(dir, LogName, &stat, unix.AT_SYMLINK_NOFOLLOW); {
	case errors.Is(err, unix.ENOENT):
		return writable(dir, directory)
	case err != nil:
		return fmt.Errorf("%s: %w", filepath.Join(directory, LogName), err)
	default:
		return cmp.Or(checkFile(filepath.Join(directory, LogName), &stat), install.Room(reach(dir), directory))
	}
}

// errCanBeMade says that a directory is not there, and could be made.
var errCanBeMade = errors.New("not there yet")

// writable returns nil if a file can be made in a directory, and has room for some text.
func writable(dir int, path string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, reach(dir), unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return install.Room(reach(dir), path)
}

// reach returns a path to the file or directory that a descriptor has open.
func reach(dir int) string { return fmt.Sprintf("/proc/self/fd/%d", dir) }

// openDirectory opens a directory. If it does not exist, openDirectory makes it. Without make, it
// returns errCanBeMade if it could make it. It follows only root's symbolic links: see resolve.
func openDirectory(path string, make bool) (int, error) {
	if path == "" {
		return 0, install.ErrNoHome
	}
	if !filepath.IsAbs(path) {
		return 0, fmt.Errorf("%s is not an absolute path", path)
	}
	names := split(resolve(path))
	dir, err := unix.Open("/", openFlags, 0)
	walked := "/"
	for _, name := range names {
		if err != nil {
			break
		}
		walked = filepath.Join(walked, name)
		next, failed := unix.Openat(dir, name, openFlags, 0)
		if errors.Is(failed, unix.ENOENT) && !make {
			if failed = writable(dir, filepath.Dir(walked)); failed == nil {
				failed = errCanBeMade
			}
		} else if errors.Is(failed, unix.ENOENT) {
			if failed = unix.Mkdirat(dir, name, 0o700); failed == nil || errors.Is(failed, unix.EEXIST) {
				next, failed = unix.Openat(dir, name, openFlags, 0)
			}
		}
		_ = unix.Close(dir)
		dir, err = next, failed
	}
	if err != nil {
		return 0, openError(walked, err)
	}
	var stat unix.Stat_t
	if err = unix.Fstat(dir, &stat); err == nil {
		err = checkDirectory(path, &stat)
	}
	if err != nil {
		_ = unix.Close(dir)
		return 0, err
	}
	return dir, nil
}

// resolve follows the symbolic links in a path that only root can have put there (/home →
// /export/home, /home/alice → /nfs/alice): those in directories that, like all above them, belong
// to root and are not writable by others. It never follows the last name.
func resolve(path string) string {
	done, names := "/", split(path)
	for links := 0; len(names) > 1 && links < 40; {
		var stat unix.Stat_t
		if unix.Lstat(done, &stat) != nil || stat.Uid != 0 || stat.Mode&0o022 != 0 {
			break
		}
		target, err := os.Readlink(filepath.Join(done, names[0]))
		if err != nil {
			done, names = filepath.Join(done, names[0]), names[1:]
			continue
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(done, target)
		}
		done, names, links = "/", append(split(target), names[1:]...), links+1
	}
	return filepath.Join(done, filepath.Join(names...))
}

func split(path string) []string {
	return strings.FieldsFunc(filepath.Clean(path), func(r rune) bool { return r == '/' })
}

const openFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openError says what ELOOP and ENOTDIR mean where links are not followed.
func openError(path string, err error) error {
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		var stat unix.Stat_t
		if unix.Lstat(path, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFLNK {
			return errLink(path)
		}
	}
	return fmt.Errorf("%s: %w", path, err)
}

func errLink(path string) error {
	return fmt.Errorf("%s is a symbolic link, which could lead anywhere", path)
}

func checkDirectory(path string, stat *unix.Stat_t) error {
	switch mode := stat.Mode & 0o7777; {
	case stat.Uid != uint32(os.Geteuid()):
		return fmt.Errorf("%s is another user's directory", path)
	case mode&0o022 != 0:
		return fmt.Errorf("%s can be written by others (mode %04o): chmod go-w it", path, mode)
	default:
		return nil
	}
}

func checkFile(path string, stat *unix.Stat_t) error {
	switch mode := stat.Mode & 0o7777; {
	case stat.Mode&unix.S_IFMT == unix.S_IFLNK:
		return errLink(path)
	case stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("%s is not a regular file", path)
	case stat.Uid != uint32(os.Geteuid()):
		return fmt.Errorf("%s is another user's file", path)
	case mode&0o077 != 0:
		return fmt.Errorf("%s can be read by others (mode %04o): chmod 600 it", path, mode)
	case stat.Nlink != 1:
		return fmt.Errorf("%s has %d names: it could be another file, too", path, stat.Nlink)
	default:
		return nil
	}
}

// endsInside reports whether the last line lacks its newline, as after a full disk.
func endsInside(file *os.File) bool {
	info, err := file.Stat()
	if err != nil {
		return false
	}
	last := []byte{'\n'}
	_, err = file.ReadAt(last, info.Size()-1) // fails if the file is empty
	return err == nil && last[0] != '\n'
}

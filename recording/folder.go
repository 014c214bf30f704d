package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/bounded"
	"vramscope/internal/install"
)

// makeFolder makes a folder if it is missing. It refuses a folder in which another user could put a
// database or a link that SQLite would follow.
func makeFolder(directory string) error {
	err := os.MkdirAll(directory, 0o700)
	if err == nil {
		directory, err = filepath.EvalSymlinks(directory) // the user may have linked the folder to a larger disk
	}
	if err == nil {
		err = install.Directory(directory, 0o700)
	}
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	return nil
}

// lockFolder ensures that only one process records into a folder. The lock ends with the process.
func lockFolder(directory string) (*os.File, error) {
	path := filepath.Join(directory, "lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		owner, _ := bounded.First(file, 20) // only for the message
		_ = file.Close()
		return nil, fmt.Errorf("recording: %s: PID %s records there: stop it, or record into another folder", directory, strings.TrimSpace(string(owner)))
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("recording: lock %s: %w", path, err)
	}
	if err := file.Truncate(0); err == nil {
		_, _ = fmt.Fprintln(file, os.Getpid()) // only for the message about a locked folder
	}
	return file, nil
}

// days lists the databases of a folder without those that were set aside, oldest first.
func days(directory string) ([]string, error) {
	paths, err := files(directory)
	return slices.DeleteFunc(paths, func(path string) bool { return len(filepath.Base(path)) != len(time.DateOnly+suffix) }), err
}

// files lists the databases of a folder, including those that were set aside, oldest first.
func files(directory string) ([]string, error) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	var paths []string
	for _, e := range entries {
		name, found := strings.CutSuffix(e.Name(), suffix)
		day, aside, _ := strings.Cut(name, "-damaged")
		if _, err := time.Parse(time.DateOnly, day); found && err == nil && strings.Trim(aside, "-0123456789") == "" && e.Type().IsRegular() {
			paths = append(paths, filepath.Join(directory, e.Name()))
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// sizeOf returns the size of databases with their log and index files.
func sizeOf(paths ...string) (size int64) {
	for _, path := range paths {
		for _, also := range []string{"", "-wal", "-shm"} {
			if info, err := os.Stat(path + also); err == nil {
				size += info.Size()
			}
		}
	}
	return size
}

// prune removes the days that are older than Keep, and the oldest ones while all databases together
// take more than MaxSize. It keeps the day that is being written, today and later days.
func (w *Writer) prune(now time.Time) {
	w.pruned = time.Now()
	paths, _ := files(w.directory) // on an error there is nothing to prune
	size := sizeOf(paths...)
	today := fileOf(now)
	oldest := fileOf(w.present(paths, now).Add(-w.options.Keep))
	for _, path := range paths {
		name := filepath.Base(path)
		if w.day != nil && path == w.day.path || name >= today || name >= oldest && size <= w.options.MaxSize {
			break
		}
		size -= sizeOf(path)
		_ = remove(path) // a file that cannot be removed is tried again later
	}
}

// present returns the time from which prune measures the age of days: now, or the end of the newest
// other day if that is earlier. Thus prune does not remove all days if the clock is set years ahead
// for a moment, or if the box was off for a long time.
func (w *Writer) present(paths []string, now time.Time) time.Time {
	for _, path := range slices.Backward(paths) {
		name, _ := strings.CutSuffix(filepath.Base(path), suffix)
		day, err := time.Parse(time.DateOnly, name)
		if err != nil || w.day != nil && path == w.day.path || !day.Before(now) {
			continue
		}
		if end := day.Add(24 * time.Hour); end.Before(now) {
			return end
		}
		break
	}
	return now
}

// reasonOf returns why recording is paused, in words for the user.
func reasonOf(err error) string {
	text := err.Error()
	switch {
	case errors.Is(err, unix.ENOSPC), strings.Contains(text, "disk is full"):
		return "the disk is full"
	case errors.Is(err, unix.EROFS), strings.Contains(text, "readonly"):
		return "the folder cannot be written"
	case errors.Is(err, fs.ErrNotExist):
		return "its files were removed"
	}
	return text
}

// trim removes the oldest samples of the current day while its database uses more than limit bytes,
// at most 32 blocks a call. SQLite uses the freed pages again; the file does not shrink.
func (d *day) trim(limit int64) {
	const blocks = 32
	for range blocks {
		used := d.find("SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size")
		oldest := d.find("SELECT coalesce(min(from_ns), 0) FROM ticks")
		if used <= limit || oldest == 0 || d.err != nil {
			return
		}
		d.exec("DELETE FROM chunks WHERE from_ns = ?", oldest)
		d.exec("DELETE FROM ticks WHERE from_ns = ?", oldest)
	}
}

// damaged reports whether an error means that a database's content is wrong. ErrForeign is such an
// error: a file whose first page is damaged no longer shows that it was a recording.
func damaged(err error) bool {
	text := err.Error()
	return errors.Is(err, ErrForeign) || strings.Contains(text, "malformed") || strings.Contains(text, "too big") ||
		strings.Contains(text, "file is not a database")
}

// setAside renames a damaged database, so that recording continues in a new one. sqlite3's .recover
// may recover data from the damaged one.
func setAside(path string) {
	to := strings.TrimSuffix(path, suffix) + "-damaged" + suffix
	for i := 2; ; i++ {
		if _, err := os.Lstat(to); err != nil {
			break
		}
		to = fmt.Sprintf("%s-damaged-%d%s", strings.TrimSuffix(path, suffix), i, suffix)
	}
	for _, also := range []string{"-wal", "-shm", ""} {
		_ = os.Rename(path+also, to+also) // recording pauses if this fails
	}
}

package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/bounded"
	"vramscope/internal/text"
)

// lockName is the lock's name in the directory of the socket.
const lockName = "daemon.lock"

// Running says that this user's daemon runs already.
type Running struct{ Holder string } // "PID 12, since 2026-11-21 03:12:00", or the lock's path

func (r *Running) Error() string { return "another vramscope daemon of this user runs: " + r.Holder }

// lock takes the lock in a directory; it lasts until the file is closed, also by
// the end of the process. Where another daemon has it, the error is a *Running.
func lock(directory string, now time.Time) (*os.File, error) {
	path := filepath.Join(directory, lockName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("daemon: lock: %w", err)
	}
	switch err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case errors.Is(err, unix.EWOULDBLOCK):
		content, _ := bounded.First(file, 100) // what cannot be read is unknown
		holder := cmp.Or(text.Clean(strings.TrimSpace(string(content))), path+" is locked")
		return nil, errors.Join(&Running{holder}, file.Close())
	case err != nil:
		return nil, fmt.Errorf("daemon: lock %s: %w", path, errors.Join(err, file.Close()))
	}
	line := fmt.Sprintf("PID %d, since %s\n", os.Getpid(), now.Local().Format(time.DateTime))
	err = file.Truncate(0)
	if err == nil {
		_, err = file.WriteAt([]byte(line), 0)
	}
	if err != nil {
		return nil, fmt.Errorf("daemon: lock %s: %w", path, errors.Join(err, file.Close()))
	}
	return file, nil
}

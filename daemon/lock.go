package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/bounded"
)

// lockName is the lock's name in the directory of the socket.
const lockName = "daemon.lock"

// Running says that this user's daemon runs already.
type Running struct {
	PID   int       // 0 where it could not be read
	Since time.Time // zero where it could not be read
	Path  string    // of the lock
}

func (r *Running) Error() string {
	if r.PID == 0 {
		return "another vramscope daemon of this user runs (" + r.Path + " is locked)"
	}
	return fmt.Sprintf("another vramscope daemon of this user runs: PID %d, since %s", r.PID, r.Since.Local().Format(time.DateTime))
}

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
		holder := &Running{Path: path}
		content, _ := bounded.First(file, 100) // what cannot be read is unknown
		pid, since, _ := strings.Cut(strings.TrimSpace(string(content)), " ")
		if at, err := time.Parse(time.RFC3339, since); err == nil {
			holder.Since = at
			holder.PID, _ = strconv.Atoi(pid)
		}
		return nil, errors.Join(holder, file.Close())
	case err != nil:
		return nil, fmt.Errorf("daemon: lock %s: %w", path, errors.Join(err, file.Close()))
	}
	line := fmt.Sprintf("%d %s\n", os.Getpid(), now.Format(time.RFC3339))
	err = file.Truncate(0)
	if err == nil {
		_, err = file.WriteAt([]byte(line), 0)
	}
	if err != nil {
		return nil, fmt.Errorf("daemon: lock %s: %w", path, errors.Join(err, file.Close()))
	}
	return file, nil
}

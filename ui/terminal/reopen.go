package terminal

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// reopened opens a terminal a second time, without blocking, so that reads and writes can be ended. The shell shares
// the first descriptor, and would break if that became non-blocking. If opening fails (after su the terminal may belong
// to another user), reopened returns file.
func reopened(file *os.File, access int) *os.File {
	path := "/proc/self/fd/" + strconv.Itoa(int(file.Fd()))
	// TIOCGSID answers only for the controlling terminal, which can always be opened.
	if _, err := unix.IoctlGetInt(int(file.Fd()), unix.TIOCGSID); err == nil {
		path = "/dev/tty"
	}
	device, err := os.OpenFile(path, access|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		return file
	}
	if err := device.SetDeadline(time.Time{}); err != nil {
		_ = device.Close() // nothing was read or written yet
		return file
	}
	return device
}

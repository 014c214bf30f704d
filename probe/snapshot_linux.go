package probe

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// SnapshotSize is the largest snapshot that a monitor keeps in memory.
const SnapshotSize = 16 << 20

// newSnapshotFile makes a file in memory that a probe can write but not enlarge.
// Unwritten pages cost nothing.
func newSnapshotFile(size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate("vramscope-snapshot", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	file := os.NewFile(uintptr(fd), "vramscope-snapshot")
	err = file.Truncate(size)
	if err == nil {
		_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("bound a file in memory: %w", err)
	}
	return file, nil
}

// writable refuses a descriptor that is open for reading only, or with O_PATH.
func writable(file *os.File) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return fmt.Errorf("snapshot descriptor: %w", err)
	}
	var flags int
	var asked error
	if err := raw.Control(func(fd uintptr) { flags, asked = unix.FcntlInt(fd, unix.F_GETFL, 0) }); err != nil {
		return fmt.Errorf("snapshot descriptor: %w", err)
	}
	if asked != nil {
		return fmt.Errorf("snapshot descriptor: %w", asked)
	}
	if flags&unix.O_ACCMODE == unix.O_RDONLY {
		return errNotWritable
	}
	return nil
}

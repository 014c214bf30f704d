package process

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// maxOpen limits how many stat files stay open: to as many as are read in a second, and to
// a quarter of the descriptors that this program may have.
func maxOpen() int {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0
	}
	return int(min(limit.Cur/4, maxStatReads))
}

// stat reads the stat of a process, whose entry is nil where it is new. The file of
// one that is read again stays open: to open and close it would take three system
// calls in place of one, and twice the time. It fails once its process has ended, and
// never shows another with the same pid.
func (t *Table) stat(e *entry, pid int) (stat, error) {
	switch {
	case e == nil:
		return readStat(t.directory(pid)+"/stat", t.buf[:])
	case e.stat == 0:
		t.keepOpen(e)
	}
	if e.stat == 0 {
		return readStat(e.statPath, t.buf[:])
	}
	n, err := syscall.Pread(e.stat, t.buf[:], 0)
	for err == syscall.EINTR {
		n, err = syscall.Pread(e.stat, t.buf[:], 0)
	}
	if err != nil || n == 0 {
		t.closeStat(e)
		return readStat(e.statPath, t.buf[:]) // the pid may be another process's by now
	}
	return parseStat(t.buf[:n])
}

// keepOpen opens an entry's stat file, unless too many are open.
func (t *Table) keepOpen(e *entry) {
	if t.open >= t.maxOpen {
		return
	}
	fd, err := syscall.Open(e.statPath, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	switch {
	case err != nil:
	case fd == 0:
		_ = syscall.Close(fd) // the standard input, which was closed
	default:
		e.stat = fd
		t.open++
	}
}

func (t *Table) closeStat(e *entry) {
	if e.stat != 0 {
		_ = syscall.Close(e.stat) // only read
		e.stat = 0
		t.open--
	}
}

// forget takes an entry out of the table, unless it is nil.
func (t *Table) forget(e *entry) {
	if e != nil {
		t.closeStat(e)
		delete(t.entries, e.info.Identity.PID)
	}
}

// isProc reports whether a directory is the kernel's proc file system.
func isProc(root string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(root, &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC
}

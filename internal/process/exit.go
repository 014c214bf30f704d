package process

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxHeld limits the descriptors that are held to learn how processes end.
const maxHeld = 256

// hold opens a pidfd of a process whose identity is known. If the pid still belongs to that process
// afterwards, so does the pidfd.
func (t *Table) hold(e *entry, pid int) {
	if e.pidfd != nil || t.isHidden == nil || t.exitsUnknown || len(t.entries) > maxHeld {
		return
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	e.pidfd = os.NewFile(uintptr(fd), "pidfd "+strconv.Itoa(pid)) // closed when the entry is forgotten
	if _, err := exitOf(e.pidfd); err != nil {
		t.exitsUnknown = true // Linux before 6.13 lacks this ioctl
	}
}

func exitOf(pidfd *os.File) (unix.PidfdInfo, error) {
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	return info, unix.IoctlPidfdInfo(int(pidfd.Fd()), &info)
}

// Exit returns how a process ended. It is known from Linux 6.15 on, if the process's stat was read
// at least twice, as soon as the parent has waited for the process.
func (t *Table) Exit(id Identity) (status syscall.WaitStatus, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.last(id)
	if e == nil || e.pidfd == nil {
		return 0, false
	}
	info, err := exitOf(e.pidfd)
	return syscall.WaitStatus(info.Exit_code), err == nil && info.Mask&unix.PIDFD_INFO_EXIT != 0
}

// last returns the entry of a process that runs or ended a moment ago, or nil.
func (t *Table) last(id Identity) *entry {
	e := t.gone[id.PID]
	if e == nil {
		e = t.entries[id.PID]
	}
	if e == nil || !id.Same(e.info.Identity) {
		return nil
	}
	return e
}

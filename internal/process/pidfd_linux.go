package process

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// kernel is the real pidfds.
type kernel struct{}

func (kernel) open(pid int) (int, error) { return unix.PidfdOpen(pid, 0) }

func (kernel) send(fd int, signal syscall.Signal) error {
	return unix.PidfdSendSignal(fd, signal, nil, 0)
}

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Refusal is why an action on a process was refused. Nothing was done.
type Refusal struct{ Reason string }

// Error implements error: "refused: PID 2963112 is another process now".
func (r *Refusal) Error() string { return "refused: " + r.Reason }

func refuse(format string, args ...any) error {
	return &Refusal{Reason: fmt.Sprintf(format, args...)}
}

// pidfds are the system calls that make a signal safe: an open descriptor stands
// for one process, even if its pid is reused.
type pidfds interface {
	open(pid int) (fd int, err error)
	send(fd int, signal syscall.Signal) error
}

type kernel struct{}

func (kernel) open(pid int) (int, error) { return unix.PidfdOpen(pid, 0) }

func (kernel) send(fd int, signal syscall.Signal) error {
	return unix.PidfdSendSignal(fd, signal, nil, 0)
}

// Signal sends a signal to the process with this identity. A refusal is a *Refusal. It refuses
// other users' processes, unless root asks. Without pidfds (Linux before 5.3) it refuses, because
// the pid could be reused between the comparison and the signal.
func (t *Table) Signal(ctx context.Context, id Identity, signal syscall.Signal) error {
	return t.signal(ctx, id, signal, kernel{}, uint32(os.Geteuid()))
}

func (t *Table) signal(ctx context.Context, id Identity, signal syscall.Signal, sys pidfds, self uint32) error {
	switch {
	case id.Foreign():
		return refuse("PID %d is not in this /proc: %s", id.PID, id.Whose())
	case id.PID <= 1:
		return refuse("PID %d is the system's init process", id.PID)
	case id.PID == os.Getpid():
		return refuse("PID %d is vramscope itself", id.PID)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("process: signal PID %d: %w", id.PID, err)
	}
	fd, err := sys.open(id.PID)
	switch {
	case errors.Is(err, syscall.ESRCH):
		return refuse("PID %d has ended", id.PID)
	case errors.Is(err, syscall.ENOSYS):
		return refuse("this kernel has no pidfd_open (Linux 5.3), so the PID could be reused; if you are sure: kill -%d %d", int(signal), id.PID)
	case err != nil:
		return fmt.Errorf("process: open PID %d: %w", id.PID, err)
	}
	defer func() { _ = syscall.Close(fd) }()

	// The descriptor refers to the process that had the pid when it was opened. If /proc shows another
	// process under the pid now, the descriptor's has exited, and the signal fails.
	if err := t.permit(id, self); err != nil {
		return err
	}
	switch err := sys.send(fd, signal); {
	case errors.Is(err, syscall.ESRCH):
		return refuse("PID %d has ended", id.PID)
	case errors.Is(err, syscall.EPERM):
		return refuse("the kernel does not permit it on PID %d", id.PID)
	case err != nil:
		return fmt.Errorf("process: signal PID %d: %w", id.PID, err)
	}
	return nil
}

func (t *Table) permit(id Identity, self uint32) error {
	info, err := t.Look(id.PID)
	if err != nil {
		return refuse("PID %d has ended", id.PID)
	}
	if !id.Same(info.Identity) {
		return refuse("PID %d is another process now", id.PID)
	}
	owner, known := info.UID.Value()
	switch {
	case self == 0, known && owner == self:
		return nil
	case !known:
		return refuse("who owns PID %d is unknown", id.PID)
	}
	return refuse("PID %d belongs to %s; you are %s", id.PID, info.User, t.UserName(uint32(os.Geteuid())))
}

// CanSignal returns nil if signals can be sent safely, and otherwise the reason why not.
func CanSignal() error {
	fd, err := kernel{}.open(os.Getpid())
	if err != nil {
		return fmt.Errorf("process: pidfd_open: %w", err)
	}
	return syscall.Close(fd)
}

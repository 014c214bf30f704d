package attach

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// errExited is the error of a process that has exited, or of which only the parent's
// record remains.
var errExited = errors.New("the process has exited")

// exited is errExited with what is known of a process that has exited during an attach.
func (a *Attacher) exited(ctx context.Context, plan *Plan, load *payload) error {
	when := "before the probe's code ran in it"
	if plan.root != "" || load.begun() { // with its root the payload's files have gone
		when = "while the probe was starting in it, which may be why; the last lines of its own output may say more"
	}
	return fmt.Errorf("%w%s %s", errExited, a.exitStatus(ctx, plan.Process.PID), when)
}

// exitStatus is how a process has ended, in brackets, or "" where its parent has
// collected that.
// Source: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
func (a *Attacher) exitStatus(ctx context.Context, pid int) string {
	content, err := readProc(ctx, 4<<10, filepath.Join(a.options.Proc, strconv.Itoa(pid)), "stat")
	fields := strings.Fields(content[strings.LastIndexByte(content, ')')+1:])
	const exitCode = 52 - 3 // from the state on
	if err != nil || len(fields) <= exitCode || fields[0] != "Z" {
		return ""
	}
	code, err := strconv.ParseUint(fields[exitCode], 10, 32)
	if err != nil {
		return ""
	}
	status := syscall.WaitStatus(code)
	if status.Signaled() {
		return " (" + unix.SignalName(status.Signal()) + ")"
	}
	return fmt.Sprintf(" (status %d)", status.ExitStatus())
}

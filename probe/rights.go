package probe

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// withRightsOf calls act, with another user's rights if this process is root: so
// that the path, which that user controls, cannot abuse root's rights, and the
// probe sees its own user.
//
// In Linux a thread has its own user and group IDs; only C libraries set them for
// all threads. The thread is not reused afterwards. Its real and saved IDs stay
// root's, so that the user can neither signal nor trace it.
func withRightsOf(uid, gid uint32, act func() error) error {
	if uid == 0 || os.Geteuid() != 0 {
		return act()
	}
	result := make(chan error)
	go onOwnThread(func() {
		// It fails for a container's root without CAP_SETUID, and for a user outside
		// this user namespace. A probe accepts root as well.
		_ = takeRights(uid, gid)
		result <- act()
	})
	return <-result
}

// onOwnThread runs act on a thread that ends with it. It must not be the main
// thread, which cannot end: /proc/self would show the other user from then on.
func onOwnThread(act func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		act()
		return // and the locked thread ends
	}
	done := make(chan struct{})
	go func() { // on another thread, since this goroutine holds the main one
		defer close(done)
		onOwnThread(act)
	}()
	<-done
	runtime.UnlockOSThread()
}

const unchanged = ^uintptr(0)

// takeRights changes the effective IDs of this thread. The group comes first:
// after the user's change there is no right to change it.
func takeRights(uid, gid uint32) error {
	for _, call := range [][4]uintptr{
		{unix.SYS_SETGROUPS, 0, 0, 0},
		{unix.SYS_SETRESGID, unchanged, uintptr(gid), unchanged},
		{unix.SYS_SETRESUID, unchanged, uintptr(uid), unchanged},
	} {
		if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
			return errno
		}
	}
	return nil
}

package probe

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// withRightsOf acts with another user's rights when we are root, so that
// root's cannot be lent by a path that this user arranges, and so that the
// probe at the other end sees its own user. It does nothing else for the
// others, who could not.
//
// User and group IDs are a thread's own in Linux; only C libraries set them
// for all threads at once. The thread that has taken them on is thrown away.
// The real and saved IDs stay root's: as long as the thread lives, that user
// can neither signal nor trace it.
func withRightsOf(uid, gid uint32, act func() error) error {
	if uid == 0 || os.Geteuid() != 0 {
		return act()
	}
	result := make(chan error)
	go onOwnThread(func() {
		if takeRights(uid, gid) != nil {
			// A container's root that may not change users, or a user that
			// this user namespace does not have: a probe lets root in.
			result <- act()
			return
		}
		result <- act()
	})
	return <-result
}

// onOwnThread runs act on a thread that ends with it. The main thread cannot
// end: were act on it, /proc/self would show the other user from then on.
func onOwnThread(act func()) {
	runtime.LockOSThread()
	if unix.Gettid() != os.Getpid() {
		act()
		return // and, being locked, takes the thread along
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

// takeRights changes the effective IDs of this thread alone. The group goes
// first, while there is still the right to change it.
func takeRights(uid, gid uint32) error {
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 {
		return errno
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, unchanged, uintptr(gid), unchanged); errno != 0 {
		return errno
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, unchanged, uintptr(uid), unchanged); errno != 0 {
		return errno
	}
	return nil
}

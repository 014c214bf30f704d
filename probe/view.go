package probe

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// view is what a process sees: its mount and its user namespace, and its root directory.
type view struct {
	mounts, users string
	root          place
}

// viewOf is the view of a process, "self" or a pid.
func viewOf(proc, process string) (v view, err error) {
	var st unix.Stat_t
	v.mounts, err = os.Readlink(filepath.Join(proc, process, "ns/mnt"))
	if err == nil {
		v.users, err = os.Readlink(filepath.Join(proc, process, "ns/user"))
	}
	if err == nil {
		err = unix.Stat(filepath.Join(proc, process, "root"), &st)
	}
	v.root = place{st.Dev, st.Ino}
	return v, err
}

// sharesView reports whether a process sees the same files and users as this program.
func (f *Finder) sharesView(pid int) bool {
	ours, failed := f.view()
	theirs, err := viewOf(f.proc, strconv.Itoa(pid))
	return failed == nil && err == nil && theirs == ours
}

// sharesMounts reports whether a process serves where this program would list it: in
// the same mount namespace, or in directories that are the same in both. A hardened
// service has a namespace of its own.
func (f *Finder) sharesMounts(pid int) bool {
	theirs, err := os.Readlink(filepath.Join(f.proc, strconv.Itoa(pid), "ns/mnt"))
	if err != nil {
		return false
	}
	if ours, err := f.view(); err == nil && theirs == ours.mounts {
		return true
	}
	who, err := ownerOf(f.proc, pid)
	if err != nil {
		return false
	}
	for _, path := range f.usual(innerUID(f.proc, pid, who.uid), who.uid) {
		parent := filepath.Dir(path)
		there, err := os.Stat(filepath.Join(f.rootOf(pid), parent))
		here, ours := os.Stat(parent)
		if errors.Is(err, fs.ErrNotExist) && errors.Is(ours, fs.ErrNotExist) {
			continue
		}
		if err != nil || ours != nil || !os.SameFile(there, here) {
			return false
		}
	}
	return true
}

package probe

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"vramscope/internal/process"
)

// view is what a process sees: its mount and its user namespace, and its root directory.
type view struct {
	mounts, users uint64 // namespaces
	root          place
}

// viewOf is the view of a process, "self" or a pid; false where it may not be seen.
func viewOf(proc, name string) (view, bool) {
	var st unix.Stat_t
	mounts, users := process.Namespace(proc, name, "mnt"), process.Namespace(proc, name, "user")
	if mounts == 0 || users == 0 || unix.Stat(proc+"/"+name+"/root", &st) != nil {
		return view{}, false
	}
	return view{mounts, users, place{st.Dev, st.Ino}}, true
}

// sharesView reports whether a process sees the same files and users as this program.
func (f *Finder) sharesView(pid int) bool {
	ours, known := f.view()
	theirs, seen := viewOf(f.proc, strconv.Itoa(pid))
	return known && seen && theirs == ours
}

// sharesMounts reports whether a process serves where this program would list it: in
// the same mount namespace, or in directories that are the same in both. A hardened
// service has a namespace of its own.
func (f *Finder) sharesMounts(pid int) bool {
	theirs := process.Namespace(f.proc, strconv.Itoa(pid), "mnt")
	if theirs == 0 {
		return false
	}
	if ours, known := f.view(); known && theirs == ours.mounts {
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

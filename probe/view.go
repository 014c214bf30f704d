package probe

import (
	"errors"
	"io/fs"
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

// viewOf is the view of a process, "self" or a pid; false where it may not be seen, or
// where its mount namespace is not the one that is wanted: 0 is any.
func viewOf(proc, name string, wanted uint64) (view, bool) {
	mounts := process.Namespace(proc, name, "mnt")
	if mounts == 0 || wanted != 0 && mounts != wanted {
		return view{}, false
	}
	users := process.Namespace(proc, name, "user")
	root, err := placeAt(proc + "/" + name + "/root")
	return view{mounts, users, root}, users != 0 && err == nil
}

// sharesView reports whether a process sees the same files and users as this program.
func (f *Finder) sharesView(pid int) bool {
	ours, known := f.view()
	if !known {
		return false
	}
	theirs, seen := viewOf(f.proc, strconv.Itoa(pid), ours.mounts)
	return seen && theirs == ours
}

// sharesMounts reports whether a process serves where this program would list it: in
// the same mount namespace, or in directories that are the same in both. A hardened
// service has a namespace of its own.
func (f *Finder) sharesMounts(s sought) bool {
	mounts := process.Namespace(f.proc, strconv.Itoa(s.id.PID), "mnt")
	if ours, known := f.view(); known && mounts == ours.mounts {
		return true
	}
	if mounts == 0 {
		return false
	}
	for _, path := range f.usual(s.inner, s.who.uid) {
		parent := filepath.Dir(path)
		there, err := placeAt(f.rootOf(s.id.PID) + parent)
		here, ours := placeAt(parent)
		if errors.Is(err, fs.ErrNotExist) && errors.Is(ours, fs.ErrNotExist) {
			continue
		}
		if err != nil || ours != nil || there != here {
			return false
		}
	}
	return true
}

// placeAt is where a path leads.
func placeAt(path string) (place, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return place{st.Dev, st.Ino}, err
}

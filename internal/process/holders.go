package process

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Holder is a process that has device files of NVIDIA's driver open.
type Holder struct {
	PID    int
	Minors []int // of GPUs, ascending; none if it has only files that all GPUs share
}

// The bounds of a search.
const (
	maxFiles   = 1024 // of one process, those with the lowest numbers
	searchTime = 2 * time.Second
)

// Holders finds the processes that have device files of the driver open, by the links in
// /proc/PID/fd. It finds this user's processes, or all if the user is root, except this program. It
// stops after searchTime.
func (t *Table) Holders() []Holder {
	var found []Holder
	deadline := time.Now().Add(searchTime)
	pids, _ := NumbersIn(t.root) // after an error, the pids that were read before it
	for _, pid := range pids {
		if time.Now().After(deadline) {
			break
		}
		if h := t.holder(pid); h != nil && pid != os.Getpid() {
			found = append(found, *h)
		}
	}
	return found
}

// NumbersIn returns the names in a directory that are numbers, ascending, such as the PIDs in /proc.
func NumbersIn(directory string) ([]int, error) {
	dir, err := os.Open(directory)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }() // only read
	names, err := dir.Readdirnames(-1)
	numbers := make([]int, 0, len(names))
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

// holder returns nil for a process that has none of the files open, or that may not be inspected.
func (t *Table) holder(pid int) *Holder {
	path := filepath.Join(t.root, strconv.Itoa(pid), "fd")
	dir, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()     // only read
	names, _ := dir.Readdirnames(maxFiles) // none for a process that has ended
	var found *Holder
	for _, name := range names {
		link, err := os.Readlink(path + "/" + name)
		if err != nil || !strings.HasPrefix(link, "/dev/nvidia") {
			continue
		}
		minor, shared, ok := t.device(path+"/"+name, link)
		if !ok {
			continue
		}
		if found == nil {
			found = &Holder{PID: pid}
		}
		if !shared && !slices.Contains(found.Minors, minor) {
			found.Minors = append(found.Minors, minor)
		}
	}
	if found != nil {
		slices.Sort(found.Minors)
	}
	return found
}

// deviceOf returns the number of the GPU whose device file is open at path. A process in its own
// mount namespace can give another file that name, so the number comes from the kernel. Source: the
// driver's README, "Chapter 5. Listing of Installed Components", and
// https://docs.kernel.org/admin-guide/devices.html (195)
func deviceOf(path, link string) (minor int, shared, ok bool) {
	const nvidia, modeset = 195, 254 // 255 is nvidiactl
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return 0, false, false
	}
	if unix.Major(st.Rdev) != nvidia {
		return 0, true, strings.HasPrefix(link, "/dev/nvidia-") // nvidia-uvm: the kernel chooses its major number
	}
	number := int(unix.Minor(st.Rdev))
	return number, number >= modeset, true
}

package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/bounded"
)

// startedAfter is when a monitor has started: its screen is complete, and the first
// search for probes is over.
const startedAfter = 10 * time.Second

// forgetStart unmaps, once the program has started, the pages of the program file and of
// libraries that only the start needed: 9 of 22 MB. What is needed later is mapped again
// from the page cache, 64 KiB at a time. The returned function prevents it.
func forgetStart() (stop func() bool) {
	return time.AfterFunc(startedAfter, forgetFilePages).Stop
}

func forgetFilePages() {
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer func() { _ = smaps.Close() }() // only read
	local := map[string]bool{}
	for _, m := range unwrittenMappings(smaps) {
		if _, met := local[m.path]; !met {
			local[m.path] = onLocalDisk(m.path)
		}
		if local[m.path] {
			// An error does no harm: the pages stay.
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED)
		}
	}
}

// onLocalDisk reports whether a file can be read again at any time. A file server may
// hang, and where the file was replaced on it, reading ends this process by SIGBUS.
func onLocalDisk(path string) bool {
	const zfs = 0x2fc12fc1 // which is not in Linux
	var fs unix.Statfs_t
	if unix.Statfs(path, &fs) != nil {
		return false
	}
	switch fs.Type {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.TMPFS_MAGIC, zfs:
		return true
	}
	return false
}

// mapping is a range of addresses that shows a file.
type mapping struct {
	start, end uintptr
	path       string
}

// unwrittenMappings are the mappings of files in /proc/PID/smaps that cannot be
// written, and were not. The linker's relocations lie in one that cannot be written any
// more, and so do a debugger's breakpoints: what was written is in no file.
//
//	00411000-0117c000 r-xp 00011000 fe:00 10063027      /usr/bin/vramscope
//	Anonymous:             0 kB
//	Swap:                  0 kB
func unwrittenMappings(smaps io.Reader) []mapping {
	var found []mapping
	var m mapping
	anonymous := -1
	for lines := bounded.Lines(smaps, 64<<10); lines.Scan(); {
		line := lines.Text()
		var next mapping
		var access string
		var swapped int
		if _, err := fmt.Sscanf(line, "%x-%x %s", &next.start, &next.end, &access); err == nil {
			m, anonymous = mapping{}, -1
			if at := strings.IndexByte(line, '/'); at >= 0 && (access == "r-xp" || access == "r--p") {
				m, m.path = next, line[at:]
			}
			continue
		}
		_, _ = fmt.Sscanf(line, "Anonymous: %d kB", &anonymous) // other lines change nothing
		if _, err := fmt.Sscanf(line, "Swap: %d kB", &swapped); err == nil && m.end > 0 && anonymous == 0 && swapped == 0 {
			found = append(found, m)
		}
	}
	return found
}

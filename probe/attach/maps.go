package attach

import (
	"strconv"
	"strings"
)

// mapsSize is how much is read of a memory map. That of a process with PyTorch has
// a few hundred KiB.
const mapsSize = 32 << 20

// mapping is a line of /proc/PID/maps.
// Source: https://man7.org/linux/man-pages/man5/proc_pid_maps.5.html
type mapping struct {
	start, end uint64
	offset     uint64
	code       bool   // executable
	path       string // of the file, "" without one
	deleted    bool   // the file has been removed or replaced since
}

// parseMaps parses the lines. Paths may contain anything but a newline, which the
// kernel escapes.
func parseMaps(content string) []mapping {
	var all []mapping
	for line := range strings.Lines(content) {
		// start-end perms offset dev inode   path
		fields := make([]string, 0, 6)
		rest := strings.TrimRight(line, "\n")
		for len(fields) < 5 {
			field, after, _ := strings.Cut(rest, " ")
			fields, rest = append(fields, field), after
		}
		from, to, ok := strings.Cut(fields[0], "-")
		start, err1 := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		offset, err3 := strconv.ParseUint(fields[2], 16, 64)
		if !ok || err1 != nil || err2 != nil || err3 != nil || end < start {
			continue
		}
		m := mapping{start: start, end: end, offset: offset, code: strings.Contains(fields[1], "x")}
		if path := strings.TrimLeft(rest, " "); strings.HasPrefix(path, "/") {
			m.path, m.deleted = strings.CutSuffix(path, " (deleted)")
		}
		all = append(all, m)
	}
	return all
}

// spaceBelow is the space below a stack pointer in its mapping.
func spaceBelow(all []mapping, pointer uint64) uint64 {
	for _, s := range all {
		if s.start <= pointer && pointer < s.end {
			return pointer - s.start
		}
	}
	return 0
}

// files returns the distinct files, by address.
func files(all []mapping) []string {
	var paths []string
	seen := make(map[string]bool) // a process can have 65,530 mappings
	for _, m := range all {
		if m.path != "" && !seen[m.path] {
			seen[m.path] = true
			paths = append(paths, m.path)
		}
	}
	return paths
}

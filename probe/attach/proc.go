package attach

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/process"
)

// procTimeout limits the reading of one file of /proc. For some files the kernel takes the
// process's memory lock, which a process that hangs in a driver call may hold for ever.
const procTimeout = 5 * time.Second

var errHung = errors.New("no answer: it hangs in a system call")

// readProc reads a file of /proc within procTimeout. A read that hangs is abandoned.
func readProc(ctx context.Context, limit int, elements ...string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, procTimeout, errHung)
	defer cancel()
	content, err := process.ReadAside(ctx, filepath.Join(elements...), limit, func() {})
	return string(content), err
}

// status holds fields of /proc/PID/status.
// Source: https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
type status struct {
	state   byte // 'R', 'S', 'D', 'T' stopped, 't' traced and stopped, 'Z', 'X'
	tracer  int
	uids    [4]uint32 // real, effective, saved, file system
	caps    uint64    // effective capabilities
	blocked uint64    // signals
	caught  uint64

	switches uint64 // context switches of the thread

	// Not reported by every kernel; zero if not.
	dumping     bool // its core dump is being written
	seccomp     int  // the mode; 1: only read, write and exit
	filters     int  // of seccomp; in mode 2, 0 is unknown (Linux before 5.9)
	slots       int  // for file descriptors
	shadowStack bool
	threads     int
}

func readStatus(ctx context.Context, elements ...string) (status, error) {
	content, err := readProc(ctx, 64<<10, append(elements, "status")...)
	if err != nil {
		return status{}, err
	}
	return parseStatus(content)
}

var errMalformed = errors.New("malformed status")

func parseStatus(content string) (status, error) {
	fields := make(map[string]string)
	for line := range strings.Lines(content) {
		key, value, _ := strings.Cut(line, ":")
		fields[key] = strings.TrimSpace(value)
	}
	var failed error
	number := func(text string, base, bits int) uint64 {
		n, err := strconv.ParseUint(text, base, bits)
		failed = errors.Join(failed, err)
		return n
	}
	reported := func(key string, bits int) uint64 {
		if fields[key] == "" {
			return 0
		}
		return number(fields[key], 10, bits)
	}
	uids := strings.Fields(fields["Uid"])
	s := status{
		tracer:      int(number(fields["TracerPid"], 10, 31)),
		caps:        number(fields["CapEff"], 16, 64),
		blocked:     number(fields["SigBlk"], 16, 64),
		caught:      number(fields["SigCgt"], 16, 64),
		switches:    reported("voluntary_ctxt_switches", 64) + reported("nonvoluntary_ctxt_switches", 64),
		dumping:     fields["CoreDumping"] == "1",
		seccomp:     int(reported("Seccomp", 31)),
		filters:     int(reported("Seccomp_filters", 31)),
		slots:       int(reported("FDSize", 31)),
		shadowStack: slices.Contains(strings.Fields(fields["x86_Thread_features"]), "shstk"),
		threads:     int(reported("Threads", 31)),
	}
	if fields["State"] == "" || len(uids) != len(s.uids) {
		return s, errMalformed
	}
	s.state = fields["State"][0]
	for i, uid := range uids {
		s.uids[i] = uint32(number(uid, 10, 32))
	}
	if failed != nil {
		return s, errMalformed
	}
	return s, nil
}

// mapsSize limits how much of a process's memory map is read. With PyTorch a map has a few hundred KiB.
const mapsSize = 32 << 20

// mapping is a line of /proc/PID/maps.
// Source: https://man7.org/linux/man-pages/man5/proc_pid_maps.5.html
type mapping struct {
	start, end uint64
	offset     uint64
	code       bool   // executable
	path       string // the path of the mapped file, "" without one
}

// parseMaps parses the lines. Paths may contain anything but a newline, which the kernel escapes.
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
			m.path = strings.TrimSuffix(path, " (deleted)")
		}
		all = append(all, m)
	}
	return all
}

// spaceBelow returns the space below a stack pointer in its mapping.
func spaceBelow(all []mapping, pointer uint64) uint64 {
	for _, s := range all {
		if s.start <= pointer && pointer < s.end {
			return pointer - s.start
		}
	}
	return 0
}

// files returns the mapped files, each once, in the order of their addresses.
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

package process

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
)

// SeccompFilters reads from a status file how many seccomp filters a process runs under.
func SeccompFilters(statusPath string) (int, error) {
	content, err := ReadLimited(statusPath, 64<<10)
	if err != nil {
		return 0, err
	}
	return ParseSeccompFilters(content)
}

// ParseSeccompFilters finds the number in a status file. Before Linux 5.9 the kernel says only
// whether there are filters; if there are, the result is 1. Source:
// https://man7.org/linux/man-pages/man5/proc_pid_status.5.html
func ParseSeccompFilters(status []byte) (int, error) {
	if count, ok := field(status, "Seccomp_filters"); ok {
		return count, nil
	}
	mode, ok := field(status, "Seccomp")
	if !ok {
		return 0, errNoSeccomp // a kernel without seccomp, or not a status file
	}
	return min(mode, 1), nil
}

var errNoSeccomp = errors.New("the kernel does not say whether there are seccomp filters")

// field returns the number in a line "NAME:\tNUMBER" of a status file.
func field(status []byte, name string) (int, bool) {
	words := StatusFields(status, name)
	if len(words) != 1 {
		return 0, false
	}
	value, err := strconv.ParseUint(words[0], 10, 31)
	return int(value), err == nil
}

// StatusFields returns the words of the line "NAME:\t…" in a status file, nil if it has no
// such line or ends within it.
func StatusFields(status []byte, name string) []string {
	_, rest, _ := bytes.Cut(status, []byte("\n"+name+":"))
	line, _, whole := bytes.Cut(rest, []byte("\n"))
	if !whole {
		return nil
	}
	return strings.Fields(string(line))
}

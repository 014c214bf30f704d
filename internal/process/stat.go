package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"syscall"
	"time"
)

// stat holds what the Table needs from /proc/PID/stat. It is parsed here because procfs takes 20 times
// as long. Source: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
type stat struct {
	comm     []byte // a view into the buffer that was parsed
	parent   int
	ticks    uint64 // user + system time, in clock ticks
	start    uint64 // clock ticks since boot
	resident int64  // pages
	ended    bool   // a zombie
}

// statSize holds a stat line with every field at its longest.
const statSize = 2048

// Limits above any process's figures, and so small that neither the time nor the bytes overflow.
const (
	maxTicks = math.MaxInt64 / int64(time.Second/ticksPerSecond)
	maxPages = math.MaxInt64 / (64 << 10) // of 64 KiB, the largest pages
)

var blank = []byte(" ")

var errMalformedStat = errors.New("malformed stat line")

// readStat reads and parses path into buf, in one read: a second one could see another moment.
func readStat(path string, buf []byte) (stat, error) {
	n, err := readOnce(path, buf)
	if err != nil {
		return stat{}, err
	}
	return parseStat(buf[:n])
}

// readOnce opens path, reads once and closes, without the finalizer and the poll
// registration of package os.
func readOnce(path string, buf []byte) (int, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", path, err)
	}
	n, err := syscall.Read(fd, buf)
	for err == syscall.EINTR {
		n, err = syscall.Read(fd, buf)
	}
	_ = syscall.Close(fd) // only read
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	if n == 0 {
		return 0, fmt.Errorf("read %s: %w", path, io.ErrUnexpectedEOF)
	}
	return n, nil
}

// parseStat parses "PID (comm) S PPID …". The name may hold spaces, parentheses and newlines, so it
// ends only at the last parenthesis.
func parseStat(line []byte) (stat, error) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return stat{}, errMalformedStat
	}
	s := stat{comm: line[open+1 : end]}
	_, rest, _ := bytes.Cut(bytes.TrimSuffix(line[end+1:], []byte("\n")), blank)
	// Numbered as in proc_pid_stat(5), where the state is field 3.
	for field := 3; field <= 24; field++ {
		var word []byte
		word, rest, _ = bytes.Cut(rest, blank)
		if len(word) == 0 {
			return stat{}, errMalformedStat
		}
		if field == 3 {
			s.ended = word[0] == 'Z' || word[0] == 'X'
			continue
		}
		if field != 4 && field != 14 && field != 15 && field != 20 && field != 22 && field != 24 {
			continue
		}
		value, err := strconv.ParseInt(string(word), 10, 64)
		if err != nil || value < 0 || field == 22 && value > maxTicks || field == 24 && value > maxPages {
			return stat{}, errMalformedStat
		}
		switch field {
		case 4:
			s.parent = int(value)
		case 14, 15:
			s.ticks += uint64(value)
		case 20:
			// A main thread that has exited while others run is a zombie, but the process has not ended.
			s.ended = s.ended && value <= 1
		case 22:
			s.start = uint64(value)
		case 24:
			s.resident = value
		}
	}
	return s, nil
}

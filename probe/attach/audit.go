package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Log is where attempts are written down: one JSON object a line, one line
// before and one after. Only ever appended to.
type Log struct{ directory string }

// NewLog is the log in a directory, which is made when the first line is
// written.
func NewLog(directory string) *Log { return &Log{directory} }

// LogName is the log's name in its directory.
const LogName = "audit.log"

// entry is a line of the log.
type entry struct {
	Time         string   `json:"time"`
	Action       string   `json:"action"`
	Outcome      string   `json:"outcome"` // "refused"; "begin", then "attached" or "failed"
	PID          int      `json:"pid"`
	StartTime    uint64   `json:"start_time_ticks"`
	UID          int      `json:"uid"`
	By           string   `json:"by"`
	Method       Method   `json:"method,omitempty"`
	Interpreter  string   `json:"interpreter,omitempty"`
	Version      string   `json:"version,omitempty"`
	Command      []string `json:"command"`
	StandstillMS *float64 `json:"standstill_ms,omitempty"`
	Reason       string   `json:"reason,omitempty"`
}

// maxCommand bounds what is logged of a command line: it may hold secrets
// further on, and hundreds of KiB.
const maxCommand = 4

func entryOf(plan *Plan, by string) entry {
	command := plan.Command[:min(len(plan.Command), maxCommand)]
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = strings.ToValidUTF8(word[:min(len(word), 256)], "?")
	}
	return entry{
		Action: "attach", PID: plan.Process.PID, StartTime: plan.Process.StartTime, UID: os.Geteuid(), By: by,
		Method: plan.Method, Interpreter: plan.Interpreter, Version: plan.Version, Command: words,
	}
}

func (e entry) with(outcome, reason string, stood time.Duration) entry {
	e.Outcome, e.Reason = outcome, reason
	if e.Method == GDB && (outcome == "attached" || outcome == "failed") {
		ms := float64(stood.Round(100*time.Microsecond)) / float64(time.Millisecond)
		e.StandstillMS = &ms
	}
	return e
}

// write appends a line.
func (l *Log) write(now time.Time, e entry) error {
	e.Time = now.Format("2006-01-02T15:04:05.000Z07:00")
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	if err := os.MkdirAll(l.directory, 0o700); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	path := filepath.Join(l.directory, LogName)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	info, err := file.Stat()
	if err == nil && (info.Mode()&fs.ModeType != 0 || info.Mode().Perm()&0o077 != 0) {
		err = fmt.Errorf("%s can be read by others, or is not a regular file (mode %04o): chmod 600 it", path, info.Mode().Perm())
	}
	if err == nil && !ownedBy(info, uint32(os.Geteuid())) {
		err = fmt.Errorf("%s is another user's", path)
	}
	if err == nil {
		if torn(file, info.Size()) {
			line = append([]byte{'\n'}, line...)
		}
		_, err = file.Write(append(line, '\n')) // in one piece: others may write too
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	return nil
}

// torn reports whether the last line has no end: the disk was full.
func torn(file *os.File, size int64) bool {
	if size == 0 {
		return false
	}
	last := []byte{'\n'}
	_, err := file.ReadAt(last, size-1)
	return err == nil && last[0] != '\n'
}

func ownedBy(info fs.FileInfo, uid uint32) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == uid
}

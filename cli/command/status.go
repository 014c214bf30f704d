package command

import (
	"fmt"
	"strings"
	"time"

	"vramscope/internal/text"
)

// Status shows on standard error why a command waits: in a terminal as a line that changes, elsewhere
// as a line for each change, at most one a minute.
type Status struct {
	Program  *Program
	Ellipsis string
	written  string    // the answer of the last line
	when     time.Time // when the last line outside of a terminal was written
}

// betweenLines is the least time between two lines outside of a terminal, so that they do not fill a
// job's log.
const betweenLines = time.Minute

// Show shows a line: in a terminal always, elsewhere only if answer has changed and betweenLines is over.
func (s *Status) Show(answer, line string) {
	if width := Width(s.Program.Stderr); width > 0 {
		s.Write("\r\x1b[K%s", s.fit(strings.TrimPrefix(line, "vramscope: "), width-1)) // a full line would wrap
		s.written = answer
		return
	}
	if now := s.Program.Now(); answer != s.written && (s.when.IsZero() || now.Sub(s.when) >= betweenLines) {
		s.written, s.when = answer, now
		s.Write("%s\n", line)
	}
}

// fit cuts a line to cells, but not its last part, such as "; 2 before you", if that is short.
func (s *Status) fit(line string, cells int) string {
	last := ""
	if at := strings.LastIndex(line, "; "); at >= 0 && len(line) > cells && len(line)-at < cells/2 {
		line, last = line[:at], line[at:]
	}
	return text.Cut(line, cells-len(last), s.Ellipsis) + last
}

// Clear removes the line that changes.
func (s *Status) Clear() {
	if IsTerminal(s.Program.Stderr) {
		s.Write("\r\x1b[K")
	}
}

// Write writes to standard error, and ignores a failure.
func (s *Status) Write(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Program.Stderr, format, args...)
}

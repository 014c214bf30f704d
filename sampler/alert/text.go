package alert

import (
	"strconv"
	"time"
	"unicode/utf8"

	"vramscope/sampler/snapshot"
)

// noteCells is the room for a note at the end of a GPU line.
const noteCells = 22

// note cuts a note to noteCells runes. If the runes are wide, the screen cuts the note again.
func note(s string) string {
	if utf8.RuneCountInString(s) <= noteCells {
		return s
	}
	return string([]rune(s)[:noteCells-1]) + "…"
}

func clock(t time.Time) string { return t.Format(time.TimeOnly) }

func number(n int) string     { return strconv.Itoa(n) }
func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

// who names a process: "PID 2963112 carol".
func who(p *snapshot.Process) string {
	if p.User == "" {
		return "PID " + number(p.ID.Process.PID)
	}
	return "PID " + number(p.ID.Process.PID) + " " + p.User
}

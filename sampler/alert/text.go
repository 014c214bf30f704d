package alert

import (
	"strconv"
	"time"
	"unicode/utf8"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// noteCells is the room for a note at the end of a GPU line.
const noteCells = 22

// note cuts a note to its room. It may hold a user's name, which the screen cleans: then every
// rune is one cell, or the screen cuts it again.
func note(s string) string {
	if utf8.RuneCountInString(s) <= noteCells {
		return s
	}
	return string([]rune(s)[:noteCells-1]) + "…"
}

// formatFullIn writes "full in 4m10s (3m–6m)" in at most 22 cells: the bounds are rounded outward
// to minutes, a bound beyond 99 minutes is open ("3m+"), and from ten minutes on the median is in
// minutes too.
func formatFullIn(f snapshot.FullIn) string {
	if f.Median <= 0 {
		return "full"
	}
	const open = 99
	earliest := int(max(min(f.Earliest, f.Median), 0) / time.Minute)
	latest := int((max(f.Latest, f.Median) + time.Minute - 1) / time.Minute)
	bounds := number(min(earliest, open)) + "m"
	if f.Latest <= 0 || latest > open {
		bounds += "+"
	} else {
		bounds += "–" + number(latest) + "m"
	}
	return briefFullIn(f) + " (" + bounds + ")"
}

// briefFullIn omits the bounds.
func briefFullIn(f snapshot.FullIn) string {
	if f.Median <= 0 {
		return "full"
	}
	return "full in " + untilFull(f.Median)
}

func untilFull(d time.Duration) string {
	minutes := int(d.Round(time.Minute) / time.Minute)
	if d >= 10*time.Minute && minutes < 100 {
		return number(minutes) + "m"
	}
	return quantity.Duration(d)
}

func clock(t time.Time) string { return t.Format(time.TimeOnly) }

func number(n int) string     { return strconv.Itoa(n) }
func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

// counted returns "1 error", "2 errors".
func counted(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return decimal(n) + " " + what + "s"
}

// who names a process: "PID 2963112 carol".
func who(p *snapshot.Process) string {
	if p.User == "" {
		return "PID " + number(p.ID.Process.PID)
	}
	return "PID " + number(p.ID.Process.PID) + " " + p.User
}

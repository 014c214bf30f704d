package guard

import (
	"fmt"
	"strconv"
	"strings"

	"vramscope/internal/process"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// nameOf is a row's short name, cleaned.
func nameOf(p *snapshot.Process) string {
	name, _, _ := strings.Cut(process.ShortCommand(p.Command, p.Name), " ")
	return text.Clean(name)
}

// sentence is a decision in one line: what, to whom, the figures, and why.
func sentence(d *Decision) string {
	s := ""
	pid := "PID " + strconv.Itoa(d.Row.Process.PID)
	switch d.Kind {
	case Acts:
		s = fmt.Sprintf("flushing %s (%s), %s expected", pid, d.Level, d.Expected.Or(0))
	case Would:
		s = fmt.Sprintf("would flush %s (%s), %s expected", pid, d.Level, d.Expected.Or(0))
	case Flushed:
		s = fmt.Sprintf("flushed %s (%s), %s freed of %s expected", pid, d.Level, d.Measured.Or(0), d.Expected.Or(0))
	case Refused:
		s = fmt.Sprintf("could not flush %s (%s)", pid, d.Level)
	case CameBack:
		return "memory of " + pid + ": " + d.Reason + rule(d)
	case Tripped:
		return "turned off" + rule(d) + ": " + d.Reason
	case Nothing:
		s = "did nothing"
	case Paused:
		s = "paused"
	case Resumed:
		s = "goes on"
	}
	if d.Reason != "" {
		s += ": " + d.Reason
	}
	return s + rule(d)
}

// rule is " [name]".
func rule(d *Decision) string {
	if d.Rule == "" {
		return ""
	}
	return " [" + text.Clean(d.Rule) + "]"
}

package ui

import (
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
)

// byDaemon says that this user may not ask the probe.
func byDaemon(p *snapshot.Probe) string {
	if p.ByDaemon {
		return ", by the daemon"
	}
	return ""
}

// startedBy is how the probe got into the process, "" where unknown.
func startedBy(way string) string {
	switch way {
	case "":
		return ""
	case "import":
		return ", imported by the program"
	case "attach":
		return ", attached while it ran"
	case "preload":
		return ", preloaded"
	default:
		return ", started by " + text.Clean(cell.Limit(way))
	}
}

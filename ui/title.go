package ui

import (
	"strconv"
	"time"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// titleOf is the terminal's title: "vramscope host ! 3 full 4m" for an urgent alert.
func titleOf(s *snapshot.Snapshot) string {
	if s == nil {
		return "vramscope"
	}
	title := "vramscope"
	if s.Host.Name != "" {
		title += " " + text.Clean(s.Host.Name)
	}
	for i := range s.Alerts {
		if a := &s.Alerts[i]; a.Severity == snapshot.Urgent {
			return title + " ! " + alertTitle(s, a)
		}
	}
	return title
}

func alertTitle(s *snapshot.Snapshot, a *snapshot.Alert) string {
	what := map[snapshot.AlertKind]string{
		snapshot.AlertLost: "lost", snapshot.AlertHanging: "hangs", snapshot.AlertECC: "ECC",
		snapshot.AlertXID: "Xid", snapshot.AlertFullIn: "full", snapshot.AlertOutOfMemory: "out of memory",
		snapshot.AlertLowMemory: "low", snapshot.AlertLeak: "leak", snapshot.AlertThrottled: "throttled",
		snapshot.AlertDriver: "driver",
	}[a.Kind]
	if a.GPUUUID == "" {
		return what
	}
	title := strconv.Itoa(a.GPU) + " " + what
	if a.Kind == snapshot.AlertFullIn {
		if g := s.GPU(a.GPUUUID); g != nil && g.FullIn != nil {
			// In whole minutes: a title that changes each second flickers in window lists.
			title += " " + strconv.Itoa(int(g.FullIn.Median/time.Minute)) + "m"
		}
	}
	return title
}

package ui

import (
	"strconv"
	"time"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// bell decides when the terminal's bell rings: for each new urgent alert, at most once a minute.
type bell struct {
	silent bool // the bell never rings
	raised map[snapshot.AlertKey]bool
	rang   time.Time
}

const bellPause = time.Minute

// ring reports whether the alerts of a new snapshot ring the bell. Those of the first snapshot do not.
func (b *bell) ring(alerts []snapshot.Alert, now time.Time) bool {
	first := b.raised == nil
	raised := make(map[snapshot.AlertKey]bool, len(alerts))
	fresh := false
	for i := range alerts {
		if alerts[i].Severity != snapshot.Urgent {
			continue
		}
		key := alerts[i].Key()
		raised[key] = true
		fresh = fresh || !b.raised[key]
	}
	b.raised = raised
	if b.silent || !fresh || first || (!b.rang.IsZero() && now.Sub(b.rang) < bellPause) {
		return false
	}
	b.rang = now
	return true
}

// titleOf returns the terminal's title: "vramscope host ! 3 full 4m" for an urgent alert.
func titleOf(s *snapshot.Snapshot) string {
	if s == nil {
		return "vramscope"
	}
	title := "vramscope"
	if s.Host.Name != "" {
		title += " " + text.Clean(s.Host.Name)
	}
	if a := snapshot.Find(s.Alerts, func(a *snapshot.Alert) bool { return a.Severity == snapshot.Urgent }); a != nil {
		return title + " ! " + alertTitle(s, a)
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

package ui

import (
	"time"

	"vramscope/sampler/snapshot"
)

// bell decides when the terminal's bell rings: once for each new red alarm,
// and at most once a minute whatever happens.
type bell struct {
	raised map[alarm]bool
	rang   time.Time
}

// alarm is what an alert is recognised by from one snapshot to the next.
type alarm struct {
	kind    snapshot.AlertKind
	gpuUUID string
	row     snapshot.RowID
}

func alarmOf(a *snapshot.Alert) alarm { return alarm{a.Kind, a.GPUUUID, a.Row} }

const bellPause = time.Minute

// ring looks at the alerts of a new snapshot and reports whether to ring.
// What stands on the very first screen is being looked at: that is silent.
func (b *bell) ring(alerts []snapshot.Alert, now time.Time) bool {
	first := b.raised == nil
	raised := make(map[alarm]bool, len(alerts))
	fresh := false
	for i := range alerts {
		if alerts[i].Severity != snapshot.Urgent {
			continue
		}
		key := alarmOf(&alerts[i])
		raised[key] = true
		fresh = fresh || !b.raised[key]
	}
	b.raised = raised
	if !fresh || first || (!b.rang.IsZero() && now.Sub(b.rang) < bellPause) {
		return false
	}
	b.rang = now
	return true
}

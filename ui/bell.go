package ui

import (
	"time"

	"vramscope/sampler/snapshot"
)

// bell decides when the terminal's bell rings: for each new urgent alert, at most once a minute.
type bell struct {
	silent bool // the bell never rings
	raised map[alarm]bool
	rang   time.Time
}

// alarm identifies an alert from one snapshot to the next.
type alarm struct {
	kind    snapshot.AlertKind
	gpuUUID string
	row     snapshot.RowID
}

func alarmOf(a *snapshot.Alert) alarm { return alarm{a.Kind, a.GPUUUID, a.Row} }

const bellPause = time.Minute

// ring reports whether the alerts of a new snapshot ring the bell. The alerts of the
// first snapshot do not.
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
	if b.silent || !fresh || first || (!b.rang.IsZero() && now.Sub(b.rang) < bellPause) {
		return false
	}
	b.rang = now
	return true
}

package sampler

import (
	"fmt"
	"strings"
	"time"

	"vramscope/sampler/snapshot"
)

// alertKey recognises an alert from one tick to the next.
type alertKey struct {
	kind     snapshot.AlertKind
	gpuUUID  string
	instance snapshot.InstanceID
	row      snapshot.RowID
}

func keyOf(a *snapshot.Alert) alertKey {
	return alertKey{kind: a.Kind, gpuUUID: a.GPUUUID, instance: a.Instance, row: a.Row}
}

// judgeEvery is how often the alert rules are applied, where the sampler ticks
// faster: what trembles ten times a second is no news.
const judgeEvery = 900 * time.Millisecond

// judge applies the alert rules, and logs what they raise and clear; between
// two times what they said last stands. What the driver or a GPU has become is
// logged at once, whether a rule speaks of it or not.
func (s *Sampler) judge(now time.Time, snap *snapshot.Snapshot) []snapshot.Alert {
	s.noteChanges(now, snap)
	if since := now.Sub(s.judged); since >= 0 && since < judgeEvery {
		return s.standing
	}
	s.judged = now
	alerts := s.alerts.Evaluate(snap)
	s.standing = alerts
	standing := make(map[alertKey]snapshot.Alert, len(alerts))
	for i := range alerts {
		key := keyOf(&alerts[i])
		standing[key] = alerts[i]
		if _, stood := s.raised[key]; !stood && hasNoEvent(alerts[i].Kind) {
			s.history.log.Append(s.alertEvent(snap, now, snapshot.EventAlarm, &alerts[i], alerts[i].Message))
		}
	}
	for key, a := range s.raised {
		if _, stands := standing[key]; !stands && hasNoEvent(key.kind) {
			s.history.log.Append(s.alertEvent(snap, now, snapshot.EventCleared, &a, over(now, &a)))
		}
	}
	s.raised = standing
	return alerts
}

// over says that an alert no longer stands. Its own message would be stale:
// it speaks of the figures of the moment.
func over(now time.Time, a *snapshot.Alert) string {
	words := strings.ReplaceAll(string(a.Kind), "_", " ")
	return fmt.Sprintf("over: %s, after %s", words, now.Sub(a.Since).Round(time.Second))
}

// hasNoEvent is false for alerts whose cause is an event already.
func hasNoEvent(kind snapshot.AlertKind) bool {
	switch kind {
	case snapshot.AlertLost, snapshot.AlertHanging, snapshot.AlertDriver, snapshot.AlertXID, snapshot.AlertOutOfMemory:
		return false
	default:
		return true
	}
}

// alertEvent is what an alert's rise or end is in the log. It is over, mostly,
// because its process is gone: whose that was is known for a while.
func (s *Sampler) alertEvent(snap *snapshot.Snapshot, now time.Time, kind snapshot.EventKind, a *snapshot.Alert, message string) snapshot.Event {
	e := snapshot.Event{Time: now, Kind: kind, GPU: a.GPU, GPUUUID: a.GPUUUID, Row: a.Row, Message: message}
	if kind == snapshot.EventAlarm {
		e.Severity = a.Severity
	}
	if r := s.rows[a.Row]; r != nil {
		e.User, e.Name = r.latest.User, programName(r.latest)
		return e
	}
	if ended := snap.EndedRow(a.Row); ended != nil {
		e.User, e.Name = ended.Last.User, programName(&ended.Last)
	}
	return e
}

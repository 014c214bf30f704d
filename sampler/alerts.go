package sampler

import (
	"fmt"
	"strings"
	"time"

	"vramscope/sampler/snapshot"
)

// alertKey identifies an alert from one tick to the next.
type alertKey struct {
	kind     snapshot.AlertKind
	gpuUUID  string
	instance snapshot.InstanceID
	row      snapshot.RowID
}

func keyOf(a *snapshot.Alert) alertKey {
	return alertKey{kind: a.Kind, gpuUUID: a.GPUUUID, instance: a.Instance, row: a.Row}
}

// alertInterval is the least time between two applications of the alert rules:
// a sampler that ticks faster sees noise.
const alertInterval = 900 * time.Millisecond

// applyRules applies the alert rules and logs the alerts that they raise and
// clear. Between two applications the last alerts stand. Changes of the driver
// and of GPUs are logged at every tick.
func (s *Sampler) applyRules(now time.Time, snap *snapshot.Snapshot) []snapshot.Alert {
	s.noteChanges(now, snap)
	if since := now.Sub(s.rulesApplied); since >= 0 && since < alertInterval {
		return s.standing
	}
	s.rulesApplied = now
	alerts := s.alerts.Evaluate(snap)
	raised, ended := missingFrom(s.standing, alerts), missingFrom(alerts, s.standing)
	s.standing = alerts
	s.history.noteAlerts(now, raised, ended)
	for _, a := range raised {
		s.logAlert(snap, now, snapshot.EventAlarm, a, a.Message)
	}
	for _, a := range ended {
		s.logAlert(snap, now, snapshot.EventCleared, a, cleared(now, a))
	}
	return alerts
}

// missingFrom are the alerts that others lack.
func missingFrom(others, alerts []snapshot.Alert) (missing []*snapshot.Alert) {
	known := make(map[alertKey]bool, len(others))
	for i := range others {
		known[keyOf(&others[i])] = true
	}
	for i := range alerts {
		if a := &alerts[i]; !known[keyOf(a)] {
			missing = append(missing, a)
		}
	}
	return missing
}

// cleared is the message of the event that ends an alert. The alert's own
// message has figures that are no longer true.
func cleared(now time.Time, a *snapshot.Alert) string {
	what, ok := map[snapshot.AlertKind]string{
		snapshot.AlertFullIn:    "no longer filling up",
		snapshot.AlertLowMemory: "no longer low on memory",
		snapshot.AlertLeak:      "no longer leaking",
		snapshot.AlertThrottled: "no longer throttled",
		snapshot.AlertECC:       "no new ECC errors",
	}[a.Kind]
	if !ok {
		what = "cleared: " + strings.ReplaceAll(string(a.Kind), "_", " ")
	}
	return fmt.Sprintf("%s (%s)", what, now.Sub(a.Since).Round(time.Second))
}

// logAlert logs that an alert was raised or cleared, unless its cause is an event
// of its own. The alert's process may have ended: then its name comes from the
// ended rows.
func (s *Sampler) logAlert(snap *snapshot.Snapshot, now time.Time, kind snapshot.EventKind, a *snapshot.Alert, message string) {
	switch a.Kind {
	case snapshot.AlertLost, snapshot.AlertHanging, snapshot.AlertDriver, snapshot.AlertXID, snapshot.AlertOutOfMemory:
		return
	default:
	}
	e := snapshot.Event{Time: now, Kind: kind, GPU: a.GPU, GPUUUID: a.GPUUUID, Row: a.Row, Message: message}
	if kind == snapshot.EventAlarm {
		e.Severity = a.Severity
	}
	if r := s.rows[a.Row]; r != nil {
		e.User, e.Name = r.latest.User, r.latest.ProgramName()
	} else if ended := snap.EndedRow(a.Row); ended != nil {
		e.User, e.Name = ended.Last.User, ended.Last.ProgramName()
	}
	s.history.log.Append(e)
}

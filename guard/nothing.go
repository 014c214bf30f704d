package guard

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// repeatAfter is the shortest time between two reports of one reason in different episodes.
const repeatAfter = 5 * time.Minute

// nothing reports why nothing is done, at most once a minute: a new reason or, after repeatAfter, the
// reason of an earlier episode.
func (e *Engine) nothing(r *Rule, ep *episode, v *view, why string) []Decision {
	kind := strings.Map(WithoutDigits, why)
	if ep.reported == kind && (!ep.inherited || e.now.Sub(ep.reportedAt) < repeatAfter) || !ep.reportedAt.IsZero() && e.now.Sub(ep.reportedAt) < time.Minute {
		return nil
	}
	ep.reported, ep.reportedAt, ep.inherited = kind, e.now, false
	d := e.newDecision(r, v)
	d.Kind, d.Reason = snapshot.GuardNothing, why
	return []Decision{d}
}

// reportUnread reports once, of each row watched for watchedLeast, that the configuration may protect
// the row, because an attribute of its process cannot be read.
func (e *Engine) reportUnread(snap *snapshot.Snapshot) (out []Decision) {
	for i := range snap.Rows {
		p := &snap.Rows[i]
		t, unread := e.traces[p.ID], e.importanceOf(p).unread
		if unread == "" || t.unread || p.ID.Process.Foreign() || e.now.Sub(t.began) < watchedLeast || e.policy.Mode == Off {
			continue
		}
		t.unread = true
		out = append(out, Decision{
			Time: e.now, Kind: snapshot.GuardNothing, GPU: p.GPU, GPUUUID: p.ID.GPUUUID, Instance: p.ID.Instance, Row: p.ID, User: p.User, Name: text.Clean(p.ProgramName()),
			Reason: "PID " + strconv.Itoa(p.ID.Process.PID) + " is not flushed: the configuration may protect it, and its " + unread + " could not be read",
		})
	}
	return out
}

// WithoutDigits drops digits, so that reasons that differ only in figures are equal.
func WithoutDigits(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}

// whyNone returns why no row can be flushed.
func (e *Engine) whyNone(rule int, v *view) string {
	var reasons, named []string // each reason once; named also has the first process for which it holds
	for p := range v.snap.PlaceRows(v.Place) {
		why := e.standing[p.ID].Reason
		if p.Served != nil && len(e.policy.Rules[rule].Sleep) > 0 {
			why = cmp.Or(e.stayAwake(rule, v.snap, p), why)
		}
		if !e.touches(v.snap, p, rule) {
			why = "another user's process"
		} else if !e.allowed(v.snap, p, rule) {
			why = "the rule is turned off for " + p.User
		}
		if why != "" && why != "nothing to free" && !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
			if pid := "PID " + strconv.Itoa(p.ID.Process.PID); strings.Contains(why, pid+" ") {
				named = append(named, why)
			} else {
				named = append(named, pid+": "+why)
			}
		}
	}
	switch n := len(reasons); {
	case n == 0:
		return "nothing that a flush frees is cached there"
	case n > 2:
		return strings.Join(named[:2], "; ") + "; and " + text.Plural(n-2, "reason", "reasons") + " more"
	default:
		return strings.Join(named, "; ")
	}
}

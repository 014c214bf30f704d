package guard

import (
	"slices"
	"strings"
	"time"

	"vramscope/internal/text"
)

// sayAgain is the least time between two episodes that give the same reason.
const sayAgain = 5 * time.Minute

// nothing gives the reason for which nothing is done, on change.
func (e *Engine) nothing(r *Rule, ep *episode, s *scene, why string) []Decision {
	kind := strings.Map(withoutDigits, why) // times in a reason are no change
	if ep.said == kind && (!ep.again || e.now.Sub(ep.saidAt) < sayAgain) || !ep.saidAt.IsZero() && e.now.Sub(ep.saidAt) < time.Minute {
		return nil
	}
	ep.said, ep.saidAt, ep.again = kind, e.now, false
	d := e.about(r, s)
	d.Kind, d.Reason = Nothing, why
	return []Decision{d}
}

func withoutDigits(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}

// whyNone is why no row gives anything.
func (e *Engine) whyNone(r *Rule, s *scene) string {
	var reasons []string
	for p := range s.snap.GPURows(s.uuid) {
		if p.ID.Instance != s.instance {
			continue
		}
		why := e.standing[p.ID].Reason
		if !e.may(s.snap, p, r.Users) {
			why = "another user's process"
		}
		if why != "" && why != "nothing to free" && !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
	}
	switch n := len(reasons); {
	case n == 0:
		return "nothing that a flush frees is cached there"
	case n > 2:
		return strings.Join(reasons[:2], "; ") + "; and " + text.Plural(n-2, "reason", "reasons") + " more"
	default:
		return strings.Join(reasons, "; ")
	}
}

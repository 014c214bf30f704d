package ui

import (
	"context"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"

	tea "charm.land/bubbletea/v2"
)

// guardWords returns the state of the guard in the header: "GUARD dry-run", "GUARD", "GUARD paused 9m",
// "GUARD cannot act"; "" where none runs.
func guardWords(s *snapshot.Snapshot, now time.Time) string {
	g := s.Guard
	switch {
	case g == nil || g.Mode == snapshot.GuardOff:
		return ""
	case g.Cannot != "":
		return "GUARD cannot act"
	case g.Paused.After(now):
		return "GUARD paused " + cell.CoarseDuration(g.Paused.Sub(now)+time.Minute-1) // a minute that has begun counts
	case g.Mode == snapshot.GuardAct:
		return "GUARD"
	default:
		return "GUARD " + string(snapshot.GuardDryRun)
	}
}

func hindered(g *snapshot.Guard, now time.Time) bool {
	return g != nil && (g.Cannot != "" || g.Paused.After(now))
}

func guardStyle(s *snapshot.Snapshot, now time.Time, styles *themes.Styles) themes.Style {
	switch {
	case hindered(s.Guard, now):
		return styles.Warning
	case s.Guard != nil && s.Guard.Mode == snapshot.GuardAct:
		return styles.Strong
	default:
		return styles.Dim
	}
}

const pauseTimeout = 5 * time.Second

func (m *model) pauseGuard(d dialog.Pause) tea.Cmd {
	pause, length := m.options.PauseGuard, d.For()
	if pause == nil || m.st.readOnly {
		return nil
	}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), pauseTimeout)
		defer cancel()
		switch err := pause(ctx, d.ByDaemon(), length); {
		case err != nil:
			return actedMsg{"the guard is not paused: " + text.Clean(err.Error())}
		case length == 0:
			return actedMsg{"the guard's pause has ended"}
		default:
			return actedMsg{"the guard is paused for " + quantity.BriefDuration(length) + ": A ends that"}
		}
	}
}

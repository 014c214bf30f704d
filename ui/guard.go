package ui

import (
	"context"
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
	"vramscope/themes"
	"vramscope/ui/cell"
	"vramscope/ui/dialog"

	tea "charm.land/bubbletea/v2"
)

// guardWords are the guard in the header: "GUARD dry-run", "GUARD", "GUARD paused 9m";
// "" where none runs.
func guardWords(s *snapshot.Snapshot, now time.Time) string {
	g := s.Guard
	switch {
	case g == nil || g.Mode == snapshot.GuardOff:
		return ""
	case g.Paused.After(now):
		return "GUARD paused " + cell.CoarseDuration(g.Paused.Sub(now))
	case g.Mode == snapshot.GuardAct:
		return "GUARD"
	default:
		return "GUARD " + string(snapshot.GuardDryRun)
	}
}

// guardStyle shows a pause as a warning: memory that should be freed is not.
func guardStyle(s *snapshot.Snapshot, now time.Time, styles *themes.Styles) themes.Style {
	switch {
	case s.Guard != nil && s.Guard.Paused.After(now):
		return styles.Warning
	case s.Guard != nil && s.Guard.Mode == snapshot.GuardAct:
		return styles.Strong
	default:
		return styles.Dim
	}
}

// standingOf is what the guard thinks of a row, nil where nothing.
func standingOf(s *snapshot.Snapshot, id snapshot.RowID) *snapshot.GuardStanding {
	if s.Guard == nil {
		return nil
	}
	for i := range s.Guard.Standings {
		if s.Guard.Standings[i].Row == id {
			return &s.Guard.Standings[i]
		}
	}
	return nil
}

// standingWords is "guard: importance -500, would be flushed second".
func standingWords(of *snapshot.GuardStanding, mode snapshot.GuardMode) string {
	words := "guard: importance " + strconv.Itoa(of.Importance)
	switch {
	case of.Order <= 0 && of.Reason != "":
		return words + ", not flushed: " + text.Clean(of.Reason)
	case of.Order <= 0:
		return words + ", not flushed"
	case mode == snapshot.GuardAct:
		words += ", is flushed " + ordinal(of.Order)
	default:
		words += ", would be flushed " + ordinal(of.Order)
	}
	if of.Frees > 0 {
		words += ", " + of.Frees.String() + " expected"
	}
	return words
}

func ordinal(n int) string {
	words := [...]string{"first", "second", "third"}
	if n <= len(words) {
		return words[n-1]
	}
	return strconv.Itoa(n) + "th"
}

// pauseTimeout is how long the daemon may take to answer.
const pauseTimeout = 5 * time.Second

// pauseGuard pauses the guard after y, or ends its pause.
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

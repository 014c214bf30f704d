package ui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/action/attach"
	"vramscope/internal/process"
	"vramscope/recording/why"
	"vramscope/sampler/snapshot"
	"vramscope/ui/terminal"
)

// The messages to Update besides keys and the answers of the terminal.
type (
	// snapshotMsg is the newest snapshot.
	snapshotMsg struct{ snapshot *snapshot.Snapshot }
	// clockMsg comes each second in which no snapshot did.
	clockMsg struct{}
	// digitMsg comes when no second digit was pressed.
	digitMsg struct{ wait int }
	// pastMsg is a moment rebuilt from the history; nil where the history does not
	// reach that far.
	pastMsg struct {
		request  int
		snapshot *snapshot.Snapshot
		at       time.Time // the moment that it stands for
		note     string    // on the alert line; "" for none
	}
	// environmentMsg is the environment of a process.
	environmentMsg struct {
		id    process.Identity
		lines []string
		err   error
	}
	// attachPlanMsg is how a probe would get into a process.
	attachPlanMsg struct {
		id   process.Identity
		plan attach.Plan
	}
	// attachedMsg is the result of attaching, in words.
	attachedMsg struct{ text string }
	// whyMsg is the explanation of an out-of-memory event.
	whyMsg struct {
		event    snapshot.Event
		evidence *why.Evidence
		verdict  why.Verdict
	}
	// reportMsg is the report of doctor.
	reportMsg struct{ lines []string }
	// actedMsg is the result of another action, in words.
	actedMsg struct{ text string }
)

// redraw is a command.
func redraw() tea.Msg { return terminal.RedrawMsg{} }

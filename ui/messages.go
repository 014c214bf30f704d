package ui

import (
	"vramscope/action/attach"
	"vramscope/internal/process"
	"vramscope/sampler/snapshot"
)

// What comes to Update besides keys and the terminal's answers.
type (
	// snapshotMsg is the newest snapshot.
	snapshotMsg struct{ snapshot *snapshot.Snapshot }
	// clockMsg comes each second in which no snapshot did.
	clockMsg struct{}
	// drainedMsg says that the terminal takes output again, and whether any
	// was lost while it did not.
	drainedMsg struct{ lost bool }
	// suspendMsg asks for what Ctrl+Z does, continuedMsg comes after a stop
	// that nobody announced, resumedMsg at the end of a suspension.
	suspendMsg   struct{}
	continuedMsg struct{}
	resumedMsg   struct{ err error }
	// endMsg ends the program when the terminal's last answers had time to come.
	endMsg struct{}
	// digitMsg comes when no second digit did.
	digitMsg struct{ wait int }
	// pastMsg is a moment rebuilt from the history; nil where nothing is
	// remembered that far back.
	pastMsg struct {
		request  int
		snapshot *snapshot.Snapshot
	}
	// environmentMsg is what a process's environment says.
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
	// attachedMsg is what came of putting it in, in words.
	attachedMsg struct{ text string }
	// reportMsg is what doctor has found.
	reportMsg struct{ lines []string }
	// actedMsg is the outcome of an action, in words.
	actedMsg struct{ text string }
)

package ui

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/dialog"
)

// The messages to Update, other than keys and the answers of the terminal.
type (
	// snapshotMsg is the newest snapshot.
	snapshotMsg struct{ snapshot *snapshot.Snapshot }
	// clockMsg comes each second while no snapshot comes.
	clockMsg struct{}
	// digitMsg comes when the time for a second digit is over.
	digitMsg struct{ wait int }
	// pastMsg is a moment rebuilt from the history.
	pastMsg struct {
		request  int
		snapshot *snapshot.Snapshot // nil: the history has nothing of that moment
		at       time.Time          // the moment that was asked for
		note     string             // on the alert line; "" for none
	}
	// fillMsg gets the open overlay and completes it. It returns false if another overlay asked for this message.
	fillMsg func(dialog.Overlay) (dialog.Overlay, bool)
	// attachedMsg is the result of attaching, in words.
	attachedMsg struct{ text string }
	// actedMsg is the result of another action, in words.
	actedMsg struct{ text string }
)

// outcome runs an action, at most for the timeout, and returns its result in words.
func outcome(timeout time.Duration, name string, act func(context.Context) (string, error)) string {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	switch result, err := act(ctx); {
	case errors.Is(err, context.DeadlineExceeded):
		return name + ": no answer within " + quantity.Duration(timeout)
	case err != nil:
		return err.Error()
	default:
		return result
	}
}

func written(verb string, write func() (path string, err error)) tea.Cmd {
	return func() tea.Msg {
		path, err := write()
		if err != nil {
			return actedMsg{err.Error()}
		}
		return actedMsg{verb + " " + path}
	}
}

package dialog

import (
	"slices"
	"time"

	"vramscope/sampler/snapshot"
)

// Overlay is a panel that lies over the screen and receives the keys. It is a value: Press returns its successor.
type Overlay interface {
	// Render returns exactly height lines of exactly width cells.
	Render(width, height int) []string
	// Press takes a key (tea.KeyPressMsg.String) while the overlay fills height lines of width cells.
	Press(name string, width, height int) (Overlay, Outcome)
	// Size returns how many lines the overlay needs at this width. The screen may give it fewer.
	Size(width int) int
}

// Follower is an overlay that shows the newest figures.
type Follower interface {
	Follow(now *Screen) Overlay
}

// Screen is what an overlay knows about the screen under it.
type Screen struct {
	Live    *snapshot.Snapshot // the newest; nil until the first arrives
	Shown   *snapshot.Snapshot // what the screen shows: now, frozen, or of the past
	History snapshot.History   // nil: there is none
	Now     time.Time
	Past    time.Time // the moment of the past that the screen shows; zero: the present
}

// Outcome is the effect of a key.
type Outcome uint8

// The outcomes.
const (
	Ignored   Outcome = iota // the key has no meaning for the overlay: ui may use it
	Handled                  // the overlay has changed, or the key does nothing
	Closed                   // remove the overlay; nothing was done
	Confirmed                // y: do it, and remove the overlay
	Rehearsed                // d: make a dry run, and leave the overlay open
	Explained                // fill the Why that Press has returned
	Saved                    // w: save the overlay's page, or the settings
	Chosen                   // a line of a menu: use it, and remove the overlay
	Changed                  // a setting: apply it, and leave the overlay open
)

// allLines is the size of an overlay that fills what it covers.
const allLines = 1 << 16

// MinLines is the minimum height of a question. Below it the question closes unanswered.
const MinLines = 6

// Overlaid draws an overlay over the middle of lines.
func Overlaid(lines []string, o Overlay, width int) []string {
	height := min(o.Size(width), len(lines))
	if height <= 0 {
		return lines
	}
	top := (len(lines) - height) / 2
	return slices.Concat(lines[:top], o.Render(width, height), lines[top+height:])
}

package dialog

import (
	"time"

	"vramscope/sampler/snapshot"
)

// Overlay is a panel that lies over the screen and has the keys: help, events,
// environment, a dialog. Like every panel it is a value; press and refreshed
// give the value that takes its place.
type Overlay interface {
	// Render returns exactly height lines of exactly width cells.
	Render(width, height int) []string
	// press takes a key (tea.KeyPressMsg.String) while the overlay fills so
	// many lines of so many cells.
	Press(name string, width, height int) (Overlay, Outcome)
	// refreshed takes what the screen shows now: the box goes on living behind it.
	Follow(now *Scene) Overlay
	// wants is what it covers and how many lines it would fill at this width;
	// it is drawn with fewer where there are no more.
	Size(width int) (extent, int)
}

// Scene is what an overlay sees of the screen it lies over.
type Scene struct {
	Live    *snapshot.Snapshot // the newest; nil until the first arrives
	Shown   *snapshot.Snapshot // what the screen shows: now, frozen, or of the past
	History snapshot.History   // nil while there is none
	Now     time.Time
	Past    time.Time // not zero: the moment that the screen shows
}

// Outcome is what came of a key.
type Outcome uint8

// The outcomes.
const (
	Ignored   Outcome = iota // the key means nothing to the overlay; the program may use it
	Handled                  // the overlay has changed, or swallowed the key
	Closed                   // it is to be taken away; nothing was done
	Confirmed                // a dialog's y: do it, and take the dialog away
	Rehearsed                // a dialog's d: find out what would happen, and leave it open
)

// extent is what an overlay lies over.
type extent uint8

// The extents: a dialog leaves GPU lines, alert and keys in sight; help needs
// all there is below the header.
const (
	OverTable extent = iota
	BelowHeader
)

// allLines is what an overlay wants that takes as many lines as there are.
const allLines = 1 << 16

// minDialogLines is the least a dialog can be read in: the frame, whom it is
// about, and the keys. With less room it closes as no.
const LeastLines = 6

// Overlaid lays an overlay over the lines of the rectangle that it covers:
// centred, the lines above and below it stay.
func Overlaid(lines []string, o Overlay, width int) []string {
	_, natural := o.Size(width)
	height := min(natural, len(lines))
	if height <= 0 {
		return lines
	}
	top := (len(lines) - height) / 2
	out := make([]string, 0, len(lines))
	out = append(out, lines[:top]...)
	out = append(out, o.Render(width, height)...)
	return append(out, lines[top+height:]...)
}

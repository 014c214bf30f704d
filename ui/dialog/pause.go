package dialog

import (
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
	"vramscope/ui/cell"
	"vramscope/ui/keys"
)

// PauseTime is how long A pauses the guard.
const PauseTime = 10 * time.Minute

// Pause asks before the guard is paused, or before a pause is ended.
type Pause struct {
	look  *cell.Appearance
	guard *snapshot.Guard // nil if none runs
	now   time.Time
}

// NewPause asks about the guard that runs now.
func NewPause(lk *cell.Appearance, now *Screen) Pause { return Pause{look: lk}.following(now) }

func (d Pause) following(now *Screen) Pause {
	d.now, d.guard = now.Now, nil
	if now.Live != nil {
		d.guard = now.Live.Guard
	}
	return d
}

// For returns how long the guard is to pause; 0 ends its pause.
func (d Pause) For() time.Duration {
	if d.paused() {
		return 0
	}
	return PauseTime
}

// ByDaemon reports whether the question is about the daemon's guard.
func (d Pause) ByDaemon() bool { return d.guard != nil && d.guard.ByDaemon }

func (d Pause) paused() bool { return d.guard != nil && d.guard.Paused.After(d.now) }

func (d Pause) Follow(now *Screen) Overlay { return d.following(now) }

func (d Pause) Size(width int) int { return d.form(width).height() }

func (d Pause) Render(width, height int) []string { return d.form(width).Render(width, height) }

func (d Pause) Hints() []keys.Hint { return d.form(dialogWidth).hints() }

func (d Pause) Press(name string, _, height int) (Overlay, Outcome) {
	switch {
	case refuses(name):
		return d, Closed
	case name == "y" && d.guard != nil && height >= MinLines:
		return d, Confirmed
	}
	return d, Handled
}

func (d Pause) form(width int) form {
	f := form{look: d.look, title: "Pause the guard"}
	inner := min(width, dialogWidth) - 4
	if d.guard == nil {
		f.add("No guard runs: the configuration has no [[guard.rule]], or its mode is off. vramscope guard check explains it.", inner)
		f.refuse("Cannot pause the guard", inner, "there is nothing to pause")
		return f
	}
	where := "this monitor's guard"
	if d.guard.ByDaemon {
		where = "the daemon's guard, for everybody on this box"
	}
	switch {
	case d.paused():
		f.title = "End the pause of the guard"
		f.add("This ends the pause of "+where+", which has "+quantity.Duration(d.guard.Paused.Sub(d.now))+" left.", inner)
		f.add("Then it decides again, also about what it did not look at meanwhile.", inner)
		f.buttons = []button{{"y", "end the pause"}, {"Esc", "cancel"}}
	case d.guard.Mode == snapshot.GuardAct:
		f.add("This pauses "+where+", for "+quantity.BriefDuration(PauseTime)+".", inner)
		f.add("Meanwhile it frees no memory, also where a GPU runs out, and answers no rescue. A flush under way is finished. "+
			"Only the daemon's user and root may do this.", inner)
		f.buttons = []button{{"y", "pause for " + quantity.BriefDuration(PauseTime)}, {"Esc", "cancel"}}
	default:
		f.add("This pauses "+where+", for "+quantity.BriefDuration(PauseTime)+".", inner)
		f.add("It is a dry run: it frees no memory anyway. Meanwhile it does not report what it would do.", inner)
		f.buttons = []button{{"y", "pause for " + quantity.BriefDuration(PauseTime)}, {"Esc", "cancel"}}
	}
	return f
}

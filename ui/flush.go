package ui

import (
	"fmt"
	"strconv"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// FlushLevel is how much a flush may cost the program.
type FlushLevel string

// The levels, gentlest first.
const (
	FlushGradual   FlushLevel = "gradual"   // what allocators hold and do not use, in steps where that is possible
	FlushSelective FlushLevel = "selective" // the caches too that the program has registered
	FlushUrgent    FlushLevel = "urgent"    // and whatever else can be collected
)

// FlushRequest asks a process to give cached memory back to the driver.
type FlushRequest struct {
	Level   FlushLevel
	Devices []string // UUIDs of GPUs and MIG instances; empty: all that the process uses
	DryRun  bool     // find out what would happen, and do nothing
	// Progress is told what has been done so far after each step but the last.
	// It must not wait; nil where nobody wants to know.
	Progress func(FlushResult)
}

// FlushResult is what a flush did, as it was measured.
type FlushResult struct {
	DryRun bool
	// More is set by a dry run that would also empty caches of the program's
	// own: what these give back is known afterwards.
	More bool

	Returnable    quantity.Bytes // what was expected of it
	Before, After quantity.Bytes // what the process's allocators hold, by its probe
	// What the process uses, by the driver; unknown where it does not tell.
	UsedBefore, UsedAfter snapshot.Bytes
	// Driver is by how much the driver's own figure changed: the process's or,
	// where it does not tell that, the GPU's.
	Driver snapshot.Bytes
	// Since is what the process's allocators have taken between the flush and
	// the driver's figure, by its probe; negative what they have given back.
	Since snapshot.Bytes

	Took        time.Duration // of the program's time, without the pauses between steps
	Step, Steps int           // the last step that was done, of how many
	Stopped     bool          // nobody wanted the steps that were left
	Reason      string        // why nothing, or less than asked, was given back
}

// Freed is what was given back; negative where the program took more meanwhile.
func (r FlushResult) Freed() quantity.Bytes { return r.Before - r.After }

// Failed reports whether there was something to give back and nothing was.
func (r FlushResult) Failed() bool { return !r.DryRun && r.Freed() <= 0 && r.Returnable > 0 }

// Sentence says what came of it: "flushed 2963112: 70.6G to 58.9G, freed 11.7G
// in 84 ms; driver says -11.7G  ok". Without a subject it is the same about
// whoever is known already.
func (r FlushResult) Sentence(subject string) string {
	if subject != "" {
		subject = " " + subject
	}
	from, to := r.fromTo()
	switch freed := r.Freed(); {
	case r.DryRun && r.More && freed <= 0:
		return "dry run" + subject + ": would free what the program's own caches hold, and nothing else" + r.because()
	case r.DryRun && r.More:
		return fmt.Sprintf("dry run%s: would free %s, and what the program's own caches hold%s", subject, freed, r.because())
	case r.DryRun && freed <= 0:
		return "dry run" + subject + ": nothing would be freed" + r.because()
	case r.DryRun:
		return fmt.Sprintf("dry run%s: %s to %s, would free %s%s", subject, from, to, freed, r.because())
	case freed <= 0 && r.Returnable <= 0:
		return "flush" + subject + ": there was nothing to free" + r.because()
	case freed <= 0:
		text := fmt.Sprintf("flush%s: nothing freed of %s%s", subject, r.Returnable, r.because())
		if r.Reason != "" {
			text += ", try again"
		}
		return text
	case r.Stopped:
		return fmt.Sprintf("stopped%s: %s to %s, freed %s of %s; %s", subject, from, to, freed, r.Returnable, r.agreement())
	case r.Reason != "":
		return fmt.Sprintf("flushed%s: %s to %s, freed %s of %s%s; %s", subject, from, to, freed, r.Returnable, r.because(), r.agreement())
	default:
		return fmt.Sprintf("flushed%s: %s to %s, freed %s in %s; %s", subject, from, to, freed, spent(r.Took), r.agreement())
	}
}

// wordings are Sentence and, where something was freed, shorter ones: on a
// narrow screen the driver's word must not be what is cut off.
func (r FlushResult) wordings(subject string) []string {
	full := r.Sentence(subject)
	if r.DryRun || r.Stopped || r.Reason != "" || r.Freed() <= 0 {
		return []string{full}
	}
	from, to := r.fromTo()
	return []string{
		full,
		fmt.Sprintf("flushed %s: %s to %s, freed %s; %s", subject, from, to, r.Freed(), r.agreement()),
		fmt.Sprintf("flushed %s: freed %s; %s", subject, r.Freed(), r.agreement()),
	}
}

// fromTo is what the process held before and after: by the driver where it
// tells, as everywhere on the screen.
func (r FlushResult) fromTo() (from, to quantity.Bytes) {
	before, told := r.UsedBefore.Value()
	after, toldAfter := r.UsedAfter.Value()
	switch {
	case r.DryRun && told:
		return before, before - r.Freed()
	case told && toldAfter:
		return before, after
	default:
		return r.Before, r.After
	}
}

func (r FlushResult) because() string {
	if r.Reason == "" {
		return ""
	}
	return ": " + text.Clean(r.Reason)
}

// agreement is the driver's word beside the probe's. The driver counts in
// pages of 2 MiB and is read a moment later: a little apart is the same, and so
// is what the probe says that a busy program has taken since.
func (r FlushResult) agreement() string {
	change, ok := r.Driver.Value()
	if !ok {
		return "the driver does not tell"
	}
	text, off, since := "driver says "+signed(change), change+r.Freed(), r.Since.Or(0)
	switch {
	case r.near(off):
		return text + "  ok"
	case r.near(off-since) && since > 0:
		return text + ", " + since.String() + " taken since  ok"
	case r.near(off - since):
		return text + ", " + (-since).String() + " given back since  ok"
	case !r.UsedBefore.Known():
		return text + "  differs: on the whole GPU, where others move too"
	default:
		return text + "  differs"
	}
}

// near reports whether a difference is none worth telling: 2 % of what was
// freed, or a few pages.
func (r FlushResult) near(off quantity.Bytes) bool {
	return max(off, -off) <= max(r.Freed()/50, 32*quantity.MiB)
}

// signed is an amount with its sign, in as many digits as without.
func signed(amount quantity.Bytes) string {
	switch {
	case amount < 0:
		return "-" + (-amount).String()
	case amount > 0:
		return "+" + amount.String()
	default:
		return "0"
	}
}

// spent is a short time: "84 ms", "1.2 s".
func spent(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1 ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}

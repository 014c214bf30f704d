package alert

import (
	"slices"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/internal/text"
	"vramscope/sampler/snapshot"
)

// driver alerts if the driver cannot be read.
func (e *Evaluator) driver(found []candidate, snap *snapshot.Snapshot) []candidate {
	if !driverAway(snap) {
		return found
	}
	d := &snap.Driver
	message := "no driver"
	if d.State == snapshot.DriverGone && !d.Since.IsZero() {
		message = "the driver went away at " + clock(d.Since)
	}
	if d.Message != "" {
		message += " (" + d.Message + ")"
	}
	advice := "retrying"
	if d.ProbesAnswering > 0 {
		advice = "probe data only"
	}
	return append(found, candidate{
		hysteresis: atOnce,
		alert: snapshot.Alert{
			Kind: snapshot.AlertDriver, Severity: snapshot.Notice, Since: d.Since,
			Note: "no driver", Message: message, Advice: advice,
		},
	})
}

// state alerts if a GPU is not ok, unless the driver cannot be read. The alert is a notice, because
// vramscope cannot help.
func (e *Evaluator) state(found []candidate, snap *snapshot.Snapshot, g *snapshot.GPU) []candidate {
	if g.State == snapshot.GPUOK || g.State == "" || driverAway(snap) {
		return found
	}
	a := snapshot.Alert{Kind: snapshot.AlertLost, Severity: snapshot.Notice, GPU: g.Index, GPUUUID: g.UUID, Since: g.Since}
	h := atOnce
	since := ""
	if !g.Since.IsZero() {
		since = " since " + clock(g.Since)
	}
	switch g.State {
	case snapshot.GPUHanging:
		a.Kind = snapshot.AlertHanging
		// Single late answers are no hang.
		h.samples, h.after = 2, 3*time.Second
		a.Note = "no answer"
		a.Message = "GPU " + number(g.Index) + " has not answered" + since
		a.Advice = "a driver call hangs: see dmesg | grep -i NVRM"
	case snapshot.GPULost:
		a.Note = g.StateWord()
		a.Message = "GPU " + number(g.Index) + " " + a.Note + strings.Replace(since, "since", "at", 1) + ", retrying"
		a.Advice = "see dmesg | grep -i NVRM"
		if a.Note == "not listed" {
			a.Message = "GPU " + number(g.Index) + " is no longer listed by the driver" + since + ", retrying"
		}
	default:
		a.Note = "error"
		a.Message = "GPU " + number(g.Index) + " answers with an error" + since
		if g.Message != "" {
			a.Message += " (" + g.Message + ")"
		}
		a.Advice = "retrying"
	}
	if had, ok := g.LastUsed.Value(); ok {
		a.Note += ", had " + had.String()
	}
	return append(found, candidate{hysteresis: h, alert: a})
}

func driverAway(snap *snapshot.Snapshot) bool {
	switch snap.Driver.State {
	case snapshot.DriverOK, snapshot.DriverStarting, "":
		return false
	default:
		return true
	}
}

// throttled alerts if heat or the hardware lowers the clocks for throttledFor. A power cap, which
// lowers the clocks of a busy GPU all the time, does not count.
func (e *Evaluator) throttled(found []candidate, g *snapshot.GPU) []candidate {
	reasons := slices.DeleteFunc(slices.Clone(g.Throttled), func(reason string) bool { return reason == "power" })
	if len(reasons) == 0 {
		return found
	}
	slices.Sort(reasons)
	message := "GPU " + number(g.Index) + " is throttled, " + strings.Join(reasons, " and ")
	advice := ""
	if t, ok := g.Temperature.Value(); ok && slices.Contains(reasons, "thermal") {
		message += ", at " + number(t) + "C"
		advice = "check its cooling"
	}
	return append(found, candidate{
		hysteresis: hysteresis{samples: 3, after: throttledFor, misses: 5, hold: throttledFor},
		alert: snapshot.Alert{
			Kind: snapshot.AlertThrottled, Severity: snapshot.Notice, GPU: g.Index, GPUUUID: g.UUID,
			Note: note("throttled: " + reasons[0]), Message: message, Advice: advice,
		},
	})
}

// errorCount is a GPU's count of uncorrectable ECC errors since the driver was loaded. The errors
// in the first snapshot are old.
type errorCount struct {
	known bool
	first uint64 // in the first snapshot, or after the driver was reloaded
	value uint64
	since time.Time // when first was read
	risen time.Time // when it last rose
}

func (c *errorCount) add(now time.Time, count quantity.Optional[uint64]) {
	v, ok := count.Value()
	switch {
	case !ok:
		return // the last count stays
	case !c.known || v < c.value:
		*c = errorCount{known: true, first: v, since: now}
	case v > c.value:
		c.risen = now
	}
	c.value = v
}

// newErrorsFor is how long a new uncorrectable error is urgent. After that it is a notice until the
// next reset, because the count does not fall.
const newErrorsFor = time.Hour

func (e *Evaluator) ecc(found []candidate, snap *snapshot.Snapshot, g *snapshot.GPU) []candidate {
	c := &e.gpus[g.UUID].errors
	if !c.known || c.value == 0 {
		return found
	}
	a := snapshot.Alert{
		Kind: snapshot.AlertECC, Severity: snapshot.Notice, GPU: g.Index, GPUUUID: g.UUID, Since: c.since,
		Note:    note("ECC " + decimal(c.value) + " uncorrectable"),
		Message: "GPU " + number(g.Index) + " has " + text.Plural(int(c.value), "uncorrectable ECC error", "uncorrectable ECC errors") + " from before this start",
		Advice:  "reset the GPU when its jobs are done",
	}
	if fresh := c.value - c.first; fresh > 0 {
		a.Since = c.risen
		a.Message = "GPU " + number(g.Index) + " has " + text.Plural(int(fresh), "new uncorrectable ECC error", "new uncorrectable ECC errors")
		if c.first > 0 {
			a.Message += ", " + decimal(c.value) + " since the driver was loaded"
		}
		if within(snap.Time, c.risen, newErrorsFor) {
			a.Severity = snapshot.Urgent
			a.Advice = "results may be wrong; end its jobs and reset it"
		}
	}
	return append(found, candidate{hysteresis: atOnce, alert: a})
}

// xid alerts for the worst critical error within xidFor, the newest if several are equally bad.
func (e *Evaluator) xid(found []candidate, snap *snapshot.Snapshot, g *snapshot.GPU) []candidate {
	var worst snapshot.XIDMeaning
	var seen snapshot.XID
	n := 0
	for _, x := range g.XIDs {
		if !within(snap.Time, x.Time, xidFor) {
			continue
		}
		n++
		m := x.Meaning()
		if n == 1 || m.Urgent && !worst.Urgent || m.Urgent == worst.Urgent && x.Time.After(seen.Time) {
			worst, seen = m, x
		}
	}
	if n == 0 {
		return found
	}
	a := snapshot.Alert{
		Kind: snapshot.AlertXID, Severity: snapshot.Notice, GPU: g.Index, GPUUUID: g.UUID, Since: seen.Time,
		Note:    note("Xid " + decimal(seen.Code)),
		Message: "GPU " + number(g.Index) + " reported Xid " + decimal(seen.Code),
		Advice:  worst.Advice,
	}
	if worst.Urgent {
		a.Severity = snapshot.Urgent
	}
	if worst.Words != "" {
		a.Note = note(a.Note + " " + worst.Words)
		a.Message += ", " + worst.Words + ","
	}
	a.Message += " at " + clock(seen.Time)
	return append(found, candidate{hysteresis: atOnce, alert: a})
}

package flush

import (
	"slices"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Result describes what a flush did, as it was measured.
type Result struct {
	Level      Level
	DryRun     bool
	Returnable quantity.Bytes // what the flush was expected to free
	Devices    []Device

	Took        time.Duration // how long the program was busy, without the pauses between steps
	Step, Steps int           // the last step that was done, of how many
	Stopped     bool          // the context ended before the last step
	Reason      string        // why nothing, or less than asked, was freed
	Notes       []string      // of the probe, or about the server

	Server  string // the server that was asked, with its version: then all figures are the driver's
	Pending bool   // nothing has changed so far, whether the server has answered or not
}

// Device is one GPU's or MIG instance's part of a Result.
type Device struct {
	UUID          string
	Index         snapshot.Int   // the GPU's index; unknown if the driver does not list it
	Before, After quantity.Bytes // reserved by the process's allocators, by its probe
	Collected     snapshot.Bytes // tensors in reference cycles, freed with Python's garbage; unknown if that was not asked for

	// The driver's figure for memory used by the process or, if that is unknown, on the Whole device.
	DriverBefore, DriverAfter snapshot.Bytes
	Whole                     bool
	// Since is by how much the allocators' reserved memory grew between the flush and DriverAfter.
	// Unknown without newer stats.
	Since snapshot.Bytes
}

// Freed returns what the flush freed on the device, by the probe.
func (d *Device) Freed() quantity.Bytes { return d.Before - d.After }

// DriverFreed returns by how much the driver's figure fell.
func (d *Device) DriverFreed() snapshot.Bytes {
	before, ok := d.DriverBefore.Value()
	after, also := d.DriverAfter.Value()
	if !ok || !also {
		return snapshot.Bytes{}
	}
	return quantity.From(before-after, quantity.Driver)
}

// Before returns what the process's allocators reserved before the flush.
func (r *Result) Before() quantity.Bytes {
	return r.sum(func(d *Device) quantity.Bytes { return d.Before })
}

// After returns what the process's allocators reserved after the flush.
func (r *Result) After() quantity.Bytes {
	return r.sum(func(d *Device) quantity.Bytes { return d.After })
}

// Freed returns what was freed; negative if the program took more meanwhile.
func (r *Result) Freed() quantity.Bytes { return r.Before() - r.After() }

// DriverFreed returns by how much the driver's figures fell; unknown if one is unknown.
func (r *Result) DriverFreed() snapshot.Bytes { return r.known(quantity.Driver, (*Device).DriverFreed) }

// Since returns by how much reserved memory has grown since the flush, if that is known on all devices.
func (r *Result) Since() snapshot.Bytes {
	return r.known(quantity.Probe, func(d *Device) snapshot.Bytes { return d.Since })
}

// Collected returns how much was in reference cycles; unknown if that is known on no device.
func (r *Result) Collected() (sum snapshot.Bytes) {
	for i := range r.Devices {
		sum = quantity.Sum(sum, r.Devices[i].Collected)
	}
	return sum
}

// Used returns what the process uses, by the driver; unknown if the driver reports no processes.
func (r *Result) Used() (before, after snapshot.Bytes) {
	if slices.ContainsFunc(r.Devices, func(d Device) bool { return d.Whole }) {
		return snapshot.Bytes{}, snapshot.Bytes{}
	}
	before = r.known(quantity.Driver, func(d *Device) snapshot.Bytes { return d.DriverBefore })
	after = r.known(quantity.Driver, func(d *Device) snapshot.Bytes { return d.DriverAfter })
	return before, after
}

// Failed reports whether nothing was freed of what was expected, or nothing has changed so far.
func (r *Result) Failed() bool { return !r.DryRun && (r.Pending || r.Freed() <= 0 && r.Returnable > 0) }

// Differs reports whether a driver's figure fell by less than the probe freed, apart from what was
// reserved since. A larger fall is no contradiction: the program frees memory too.
func (r *Result) Differs() bool { return !r.DryRun && slices.ContainsFunc(r.Devices, Device.differs) }

func (d Device) differs() bool {
	dropped, ok := d.DriverFreed().Value()
	return ok && d.Freed() > 0 && d.Freed()-d.Since.Or(0)-dropped > snapshot.Tolerance(d.Freed())
}

// lacksFigure reports whether a driver's figure was known before, and is not now: a driver on a busy
// machine may not answer in time.
func (r *Result) lacksFigure() bool {
	return slices.ContainsFunc(r.Devices, func(d Device) bool { return d.DriverBefore.Known() && !d.DriverAfter.Known() })
}

// Done reports whether the flush did what it was asked for, as far as is known.
func (r *Result) Done() bool { return !r.Failed() && !r.Stopped && !r.Differs() }

// Outcome returns the result in one word, for documents and the audit log.
func (r *Result) Outcome() string {
	switch {
	case r.DryRun:
		return "dry_run"
	case r.Pending:
		return "pending"
	case r.Level == Wake:
		return "woken"
	case r.Stopped:
		return "stopped"
	case r.Failed():
		return "nothing_freed"
	case r.Freed() <= 0:
		return "nothing_to_free"
	case r.Differs():
		return "differs"
	case r.Reason != "":
		return "partly"
	default:
		return "flushed"
	}
}

// ownCaches reports whether a dry run would also empty caches of the program, of unknown size.
func (r *Result) ownCaches() bool {
	return r.DryRun && slices.ContainsFunc(r.Notes, func(note string) bool { return strings.HasPrefix(note, "would empty ") })
}

// Sum returns the result of several flushes together.
func Sum(results []Result) Result {
	sum := results[0]
	sum.Reason, sum.Stopped, sum.Devices = "", false, slices.Clone(sum.Devices)
	for _, r := range results[1:] {
		sum.Returnable, sum.Took = sum.Returnable+r.Returnable, sum.Took+r.Took
		sum.Devices, sum.Notes = append(sum.Devices, r.Devices...), append(slices.Clip(sum.Notes), r.Notes...)
	}
	return sum
}

func (r *Result) sum(figure func(*Device) quantity.Bytes) quantity.Bytes {
	var sum quantity.Bytes
	for i := range r.Devices {
		sum += figure(&r.Devices[i])
	}
	return sum
}

// known sums a figure over the devices. The sum is known only if every part is.
func (r *Result) known(source quantity.Source, figure func(*Device) snapshot.Bytes) snapshot.Bytes {
	var figures []snapshot.Bytes
	for i := range r.Devices {
		figures = append(figures, figure(&r.Devices[i]))
	}
	if sum, ok := quantity.All(figures...).Value(); ok {
		return quantity.From(sum, source)
	}
	return snapshot.Bytes{}
}

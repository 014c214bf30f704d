package probe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// The limits on what one probe may report.
const (
	maxDevices      = 64
	maxAllocators   = 64  // of one device
	maxReported     = 512 // allocators of all devices
	maxRuntimes     = 16
	maxCapabilities = 32
	maxEvictable    = 32
	maxNotes        = 8
	maxPools        = 8 // of one allocator
	maxLargest      = 8
	maxFailed       = 16  // of one device
	maxStack        = 8   // of an allocation that failed
	maxHeld         = 16  // of an allocation that failed
	maxText         = 256 // bytes of a message, a reason, a name
	maxUUID         = 96
	// More than any GPU has, and small enough that no sum overflows.
	maxBytes = quantity.PiB
	maxCount = 1 << 53 // JSON numbers up to this are exact everywhere
	// In seconds: 31 years, which do not overflow a time.Duration.
	maxAge = 1e9
)

// clockSlack is how far the time of a reading may lie after its arrival, or before the start of the
// process. Probe and monitor read the same clock, but somebody may set it in between.
const clockSlack = 10 * time.Second

// checkTime returns why ns, the Unix time of a reading that has just arrived, is impossible. The
// process started at start, in clock ticks after boot.
func checkTime(now time.Time, ns int64, start uint64) error {
	age := time.Duration(now.UnixNano() - ns)
	if age < -clockSlack {
		return fmt.Errorf("time_ns is %s in the future", (-age).Round(time.Second))
	}
	var boot unix.Timespec // this clock counts while the machine is suspended, and cannot be set
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil {
		return nil //nolint:nilerr // then nothing bounds it: it is old, and shown as such
	}
	if lived := time.Duration(boot.Nano()) - process.SinceBoot(start); age > lived+clockSlack {
		return fmt.Errorf("time_ns is %s ago, before the process started", age.Round(time.Second))
	}
	return nil
}

func (r *Report) checkTimes(now time.Time, start uint64) error {
	for i := range r.Devices {
		for _, f := range r.Devices[i].OutOfMemory {
			if ahead := time.Duration(f.TimeNS - now.UnixNano()); ahead > clockSlack {
				return fmt.Errorf("an allocation failed %s in the future", ahead.Round(time.Second))
			}
		}
	}
	return checkTime(now, r.TimeNS, start)
}

func plausible(b quantity.Bytes) bool { return b >= 0 && b <= maxBytes }

// possible reports whether a figure is possible. It marks a known figure as reported by a probe.
func possible(figure *snapshot.Bytes) bool {
	bytes, known := figure.Value()
	if known {
		*figure = quantity.From(bytes, quantity.Probe)
	}
	return plausible(bytes)
}

// wellFormedUUID accepts NVML's form: "GPU-…", or "MIG-…" for an instance.
func wellFormedUUID(uuid string) bool {
	if len(uuid) > maxUUID || !strings.HasPrefix(uuid, "GPU-") && !strings.HasPrefix(uuid, "MIG-") || len(uuid) == 4 {
		return false
	}
	return !strings.ContainsFunc(uuid, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '/'
	})
}

func checkDevices(uuids []string) *Error {
	if len(uuids) > maxDevices || slices.ContainsFunc(uuids, func(uuid string) bool { return !wellFormedUUID(uuid) }) {
		return failure(BadRequest, "devices are at most %d UUIDs in NVML's form, as in stats", maxDevices)
	}
	return nil
}

func checkDuration(ms float64) error {
	if ms < 0 || ms > 1e9 {
		return fmt.Errorf("it took %g ms", ms)
	}
	return nil
}

func clipAll(texts []string, limit int) []string {
	texts = texts[:min(len(texts), limit)]
	for i, text := range texts {
		texts[i] = clip(text)
	}
	return texts
}

// clip cuts a text to at most maxText bytes, at the border of a rune.
func clip(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.Clone(strings.ToValidUTF8(text[:maxText], ""))
}

// check returns why a report is impossible. One impossible figure invalidates the report, unless it is a holder's.
func (r *Report) check() error {
	if len(r.Devices) > maxDevices {
		return fmt.Errorf("%d devices", len(r.Devices))
	}
	if r.TimeNS <= 0 {
		return fmt.Errorf("time_ns is %d", r.TimeNS)
	}
	allocators := 0
	for i := range r.Devices {
		d := &r.Devices[i]
		if allocators += len(d.Allocators); allocators > maxReported {
			return fmt.Errorf("more than %d allocators", maxReported)
		}
		if !wellFormedUUID(d.UUID) {
			return fmt.Errorf("device %q is not a UUID in NVML's form", clip(d.UUID))
		}
		if slices.ContainsFunc(r.Devices[:i], func(other Device) bool { return other.UUID == d.UUID }) {
			return fmt.Errorf("device %s is listed twice", d.UUID)
		}
		if err := d.check(); err != nil {
			return fmt.Errorf("device %s: %w", d.UUID, err)
		}
		if err := d.checkFailed(); err != nil {
			return fmt.Errorf("device %s: %w", d.UUID, err)
		}
	}
	if !countable(r.Steps) {
		return fmt.Errorf("steps is %d", r.Steps.Or(0))
	}
	r.Optimizer = clip(r.Optimizer)
	return nil
}

func (d *Device) check() error {
	if len(d.Allocators) > maxAllocators {
		return fmt.Errorf("%d allocators", len(d.Allocators))
	}
	if !possible(&d.Total) {
		return fmt.Errorf("total_bytes is %d", d.Total.Or(0))
	}
	var sum quantity.Bytes
	for i := range d.Allocators {
		a := &d.Allocators[i]
		if err := checkAllocator(a); err != nil {
			return fmt.Errorf("allocator %q: %w", clip(a.Kind), err)
		}
		if sum += a.Reserved.Or(partsOf(a).Or(0)); !plausible(sum) {
			return fmt.Errorf("its allocators sum to %d", sum)
		}
		for j := range i {
			if a.Handle != 0 && d.Allocators[j].Handle == a.Handle {
				return fmt.Errorf("allocators %q and %q have the same handle", d.Allocators[j].Kind, a.Kind)
			}
		}
	}
	return nil
}

// check verifies that the probe speaks for its process. It cuts texts and lists to their limits.
func (h *Hello) check(pid int, start uint64) error {
	switch {
	case !sameMajor(h.Proto):
		return fmt.Errorf("the probe speaks %q, this is %s: update the older of the two", clip(h.Proto), Version)
	case h.PID != pid:
		return fmt.Errorf("the probe reports PID %d in its namespace, but is %d", h.PID, pid)
	case h.StartTime != start:
		return fmt.Errorf("the probe reports start time %d, but has %d", h.StartTime, start)
	}
	h.Runtimes = h.Runtimes[:min(len(h.Runtimes), maxRuntimes)]
	for i := range h.Runtimes {
		h.Runtimes[i] = Runtime{Name: clip(h.Runtimes[i].Name), Version: clip(h.Runtimes[i].Version)}
	}
	h.Capabilities = clipAll(h.Capabilities, maxCapabilities)
	h.Evictable = h.Evictable[:min(len(h.Evictable), maxEvictable)]
	for i := range h.Evictable {
		cache := &h.Evictable[i]
		cache.Name = clip(cache.Name)
		if !possible(&cache.Bytes) {
			cache.Bytes = snapshot.Bytes{} // the program gave this figure: it does not invalidate the rest
		}
	}
	switch h.StartedBy {
	case "run", "import", "attach", "preload":
	default:
		h.StartedBy = "" // a word of a later minor version
	}
	return nil
}

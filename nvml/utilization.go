package nvml

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"vramscope/internal/quantity"
)

// utilizationStride is the size of nvmlProcessUtilizationSample_t: pid, CPU timestamp in µs, and
// the utilisation of SM, memory, encoder and decoder in per cent.
const utilizationStride = 32

// utilizationHold is how long a sample stays valid. The driver samples each process separately,
// seconds apart, and returns a sample once; for an idle process it returns none.
const utilizationHold = 4 * time.Second

// utilization remembers the samples of one GPU's processes.
//
//	driver ── samples newer than since ──→ add ──→ assign: per cent, 0 or unknown
type utilization struct {
	since   uint64              // µs, the newest timestamp so far; the driver is asked for newer samples
	samples []utilizationSample // sorted by pid
}

type utilizationSample struct {
	pid       int
	percent   [4]int // SM, memory, encoder, decoder; -1 if invalid
	timestamp uint64
	taken     time.Time
}

// wallClock is the smallest timestamp that is a wall-clock time in µs: the year 2001. Smaller
// timestamps count from the boot; such a sample gets the time at which it was received.
const wallClock = 1_000_000_000_000_000

// add adds count structs of an answer, and drops values above 100 per cent, because some drivers
// return uninitialised entries (https://github.com/Syllo/nvtop/issues/110).
func (u *utilization) add(buffer []byte, count int, now time.Time) {
	// If since were in the future, the driver would report no samples until then.
	latest := uint64(max(now.Add(time.Minute).UnixMicro(), 0))
	for i := range min(count, len(buffer)/utilizationStride) {
		entry := buffer[i*utilizationStride:]
		sample := utilizationSample{
			pid:       int(binary.NativeEndian.Uint32(entry)),
			timestamp: binary.NativeEndian.Uint64(entry[8:]),
			taken:     now,
		}
		for n := range sample.percent {
			sample.percent[n] = intFigure(binary.NativeEndian.Uint32(entry[16+4*n:]), 100).Or(-1)
		}
		if sample.pid == 0 || sample.percent[0] < 0 || sample.timestamp == 0 || sample.timestamp > latest {
			continue
		}
		if sample.timestamp >= wallClock {
			sample.taken = time.UnixMicro(int64(sample.timestamp))
		}
		u.since = max(u.since, sample.timestamp)
		at, known := u.find(sample.pid)
		if !known {
			u.samples = slices.Insert(u.samples, at, sample)
		} else if u.samples[at].timestamp < sample.timestamp {
			u.samples[at] = sample
		}
	}
	u.forget(now)
}

func (u *utilization) forget(now time.Time) {
	u.samples = slices.DeleteFunc(u.samples, func(s utilizationSample) bool {
		age := now.Sub(s.taken)
		return age > utilizationHold || age < -time.Minute
	})
}

// assign sets the utilisation of each process of a list. A process without a sample was idle if
// another process of the list has a sample, or if the whole GPU was idle. Otherwise its utilisation
// stays unknown, because the driver reports nothing about it (it may be in another container).
func (u *utilization) assign(list []Process, whole quantity.Optional[int]) {
	percent, known := whole.Value()
	idle := known && percent == 0 || slices.ContainsFunc(list, func(p Process) bool {
		_, sampled := u.find(p.PID)
		return sampled
	})
	for i := range list {
		var percent [4]int
		if at, sampled := u.find(list[i].PID); sampled {
			percent = u.samples[at].percent
		} else if !idle {
			continue
		}
		p := &list[i]
		for n, to := range []*quantity.Optional[int]{&p.SMUtilization, &p.MemoryUtilization, &p.EncoderUtilization, &p.DecoderUtilization} {
			if percent[n] >= 0 {
				*to = quantity.From(percent[n], quantity.Driver)
			}
		}
	}
}

// find returns the index of a pid's sample, or where to insert it.
func (u *utilization) find(pid int) (at int, found bool) {
	return slices.BinarySearchFunc(u.samples, pid, func(s utilizationSample, pid int) int { return cmp.Compare(s.pid, pid) })
}

package why

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"vramscope/guard/advice"
	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
	"vramscope/sampler/snapshot"
)

// Evidence is the figures about an out-of-memory event. Sizes are in bytes.
type Evidence struct {
	Event   snapshot.Event
	Process snapshot.Process // close to the event
	GPU     string           // the GPU's name
	Place   string           // "GPU 0", "GPU 0, instance 2"
	Later   time.Duration    // for how long the process was seen after the event

	Requested snapshot.Bytes
	Free      snapshot.Bytes // on the device
	FreeAbout bool           // Free is estimated from the driver's samples before and after
	Limit     snapshot.Bytes // the most that the allocator may reserve, if less than the device has
	MPSLimit  snapshot.Bytes // the most that the process may use, by its environment, if less than the device has
	Withheld  snapshot.Bytes // the part of Free that CUDA withheld from the process, if the allocation failed for that reason
	Capacity  snapshot.Bytes // the part of the device's memory that processes can use
	Driver    snapshot.Bytes // the part of the device's memory that the driver reserves

	Used        snapshot.Bytes // by the process at the failure
	UsedLeast   bool           // Used is only the part that the allocator reserved
	Reserved    snapshot.Bytes // the part of Used that the allocator reserves
	Allocated   snapshot.Bytes
	LargestFree snapshot.Bytes
	Steps       quantity.Optional[int64] // made while the samples in Long were taken
	Unequal     string                   // from advice.Unequal, "" if memory is used equally
	Replayed    []advice.Replay          // replays of its trace of allocations up to the error; nil without a trace
	Rescue      string                   // why the guard did not rescue the allocation, "" if no event says so

	// Samples of the last minutes, and of up to a day, oldest first. Both end with the event.
	Recent, Long []Sample
	Gap          bool        // the history begins more than lateTime before Recent
	Neighbours   []Neighbour // largest first
}

// Sample is the memory of the process and of the rest of its device at a moment.
type Sample struct {
	Time      time.Time
	Used      snapshot.Bytes // by the process; 0 before the process started
	Allocated snapshot.Bytes // the least in this stretch of time
	Others    snapshot.Bytes // by everything else on the device
}

// Neighbour is another process on the device.
type Neighbour struct {
	Process snapshot.Process // at the event
	Used    []Use            // during the time of Recent, and until neighbourTime later; unknown values are left out
	Before  []Use            // the same for the time of Long
}

// Use is a process's used memory at a moment; 0 before it started.
type Use struct {
	Time time.Time
	Used quantity.Bytes
}

// How far back the evidence reaches, and in how many samples.
const (
	recentTime    = 10 * time.Minute
	recentSamples = 600
	longTime      = 24 * time.Hour
	longSamples   = 1440
	// Samples that cover at least recentTime−lateTime show all of the last minutes.
	lateTime = recentTime / 10
	// A neighbour that took memory within one sampling interval shows in the next sample.
	neighbourTime = 3 * time.Second
	// A process that exits with its error may stay listed for some seconds.
	exitTime = 10 * time.Second
)

// Gather collects the evidence of an event from a history.
func Gather(history snapshot.History, event *snapshot.Event) *Evidence {
	e := &Evidence{Event: *event}
	oldest, newest := history.Span()
	at, ok := history.At(event.Time)
	if !ok {
		at, ok = history.At(oldest)
	}
	if !ok {
		at = &snapshot.Snapshot{}
	}
	if later, ok := history.At(event.Time.Add(neighbourTime)); ok && at.Row(event.Row) == nil {
		at = later // the process had only just started
	}
	e.fromSnapshot(at, event)
	e.read(history, oldest, newest)
	e.fromFailure(history, event.OutOfMemory)
	e.estimateFree(history)
	e.Rescue = rescueOf(history, event)
	if used, ok := e.Used.Value(); ok && len(e.Recent) > 0 { // e.Used is exact; a sample may be a second older or younger
		last := &e.Recent[len(e.Recent)-1]
		last.Used = e.Used
		if all, ok := e.inUse(); ok {
			last.Others = computed(max(all-used, 0))
		}
	}
	return e
}

const (
	// rescueNear is the longest time between a failed rescue and its out-of-memory event, whose time
	// is that of a later sample.
	rescueNear = 10 * time.Second
	// mostEvents is the most events that rescueOf searches, newest first.
	mostEvents = 2000
)

// rescueOf returns why the guard did not rescue the allocation, "" if no event says so.
func rescueOf(history snapshot.History, event *snapshot.Event) string {
	for _, e := range history.Events(mostEvents) {
		near := event.Time.Sub(e.Time).Abs() <= rescueNear
		if near && e.Kind == snapshot.EventNotRescued && e.Row.Process == event.Row.Process && e.Row.GPUUUID == event.Row.GPUUUID {
			return e.Message
		}
	}
	return ""
}

func (e *Evidence) fromSnapshot(at *snapshot.Snapshot, event *snapshot.Event) {
	e.Process = snapshot.Process{ID: event.Row, GPU: event.GPU, User: event.User, Name: event.Name}
	if row := at.AnyRow(event.Row); row != nil {
		e.Process = *row
	}
	e.Unequal, _ = advice.Unequal(at, &e.Process)
	e.Used = e.Process.Used
	e.Allocated = e.Process.Allocated
	e.Place = fmt.Sprintf("GPU %d", event.GPU)
	g := at.GPU(event.Row.GPUUUID)
	if g == nil {
		return
	}
	e.GPU, e.Capacity, e.Driver = g.Name, g.Memory.Capacity(), g.Memory.Reserved
	if in := g.Instance(event.Row.Instance); event.Row.Instance.MIG && in != nil {
		e.Capacity, e.Driver = in.Memory.Capacity(), in.Memory.Reserved
		e.Place += fmt.Sprintf(", instance %d (%s)", in.ID.GPU, in.Profile)
	}
	for i := range at.Rows {
		p := &at.Rows[i]
		if p.ID.GPUUUID == event.Row.GPUUUID && p.ID.Instance == event.Row.Instance && p.ID.Process != event.Row.Process {
			e.Neighbours = append(e.Neighbours, Neighbour{Process: *p})
		}
	}
	sorted.Stable(e.Neighbours, func(a, b Neighbour) int {
		return cmp.Compare(b.Process.Used.Or(-1), a.Process.Used.Or(-1))
	})
}

func (e *Evidence) fromFailure(history snapshot.History, f *snapshot.OutOfMemory) {
	if f == nil {
		return
	}
	e.Requested, e.Free = f.Requested, f.Free
	if limit, ok := f.Limit.Value(); ok && limit < e.Capacity.Or(limit)-e.Capacity.Or(0)/200 {
		e.Limit = f.Limit
	}
	if limit, ok := f.MPSLimit.Value(); ok && limit < e.Capacity.Or(limit) {
		e.MPSLimit = f.MPSLimit
		if !e.Event.Row.Instance.MIG { // under a limit, the process sees no more than the limit as free, except on a MIG instance
			e.Free = snapshot.Bytes{}
		}
	}
	if !f.Reserved.Known() {
		return
	}
	// PyTorch frees all it can before it fails, so the previous sample shows more used memory.
	other := e.otherOf(history)
	e.Used = quantity.Sum(f.Reserved, other)
	if known, ok := e.inUse(); !other.Known() || ok && e.Used.Or(0) > known {
		e.Used, e.UsedLeast = f.Reserved, true // the other memory is unknown, or was read at another moment
	}
	e.Reserved, e.Allocated, e.LargestFree = f.Reserved, f.Allocated, f.LargestFree
}

// Total returns the device's total memory, with what the driver reserves.
func (e *Evidence) Total() quantity.Bytes { return e.Capacity.Or(0) + e.Driver.Or(0) }

// overMPSLimit returns by how much the request exceeded the limit of a client of MPS, 0 if it did not.
func (e *Evidence) overMPSLimit() quantity.Bytes {
	if !e.MPSLimit.Known() || !e.Used.Known() {
		return 0
	}
	return max(e.Used.Or(0)+e.Requested.Or(0)-e.MPSLimit.Or(0), 0)
}

// size returns the total in words, with the part that the driver reserves.
func (e *Evidence) size() string {
	if e.Driver.Or(0) == 0 {
		return e.Total().String()
	}
	return fmt.Sprintf("%s, of which the driver reserves %s", e.Total(), e.Driver.Or(0))
}

// inUse returns the used memory of all processes at the failure, if it is exact.
func (e *Evidence) inUse() (used quantity.Bytes, known bool) {
	return e.Capacity.Or(0) - e.Free.Or(0), e.Capacity.Known() && e.Free.Known() && !e.FreeAbout
}

// sampledBefore returns when the other processes were last sampled before the error. moved is true
// if memory has moved since: the samples add up to more than was used at the error.
func (e *Evidence) sampledBefore() (at time.Time, moved bool) {
	all, known := e.inUse()
	sum := e.Used.Or(0)
	for i := range e.Neighbours {
		n := &e.Neighbours[i]
		sum += n.Process.Used.Or(0)
		for _, u := range n.Used {
			if !u.Time.After(e.Event.Time) {
				at = quantity.Later(at, u.Time)
			}
		}
	}
	return at, known && sum > all && !at.IsZero()
}

// otherOf returns the last known other memory of the process. The newest value may be unknown,
// because the readings of a growing process are skewed.
func (e *Evidence) otherOf(history snapshot.History) snapshot.Bytes {
	if e.Process.Other.Known() {
		return e.Process.Other
	}
	for _, s := range slices.Backward(e.Recent) {
		if at, ok := history.At(s.Time); ok {
			row := at.Row(e.Event.Row)
			if row == nil {
				break
			}
			if row.Other.Known() {
				return row.Other
			}
		}
	}
	return snapshot.Bytes{}
}

// estimateFree estimates the free memory or, if the process reported it, the memory that CUDA withheld
// from the process. It compares the driver's samples before and after the error.
func (e *Evidence) estimateFree(history snapshot.History) {
	free, fewest, others := quantity.Bytes(-1), quantity.Bytes(math.MaxInt64), quantity.Bytes(0)
	var sequences [2]uint64
	near := true // both samples are close to the requested moments
	for i, at := range [...]time.Time{e.Event.Time, e.Event.Time.Add(neighbourTime)} {
		snap, ok := history.At(at)
		if !ok {
			return
		}
		g := snap.GPU(e.Event.Row.GPUUUID)
		if g == nil || e.Event.Row.Instance.MIG {
			return
		}
		used, ok := g.Memory.Used.Value()
		if !ok || !e.Capacity.Known() {
			return
		}
		free = max(free, e.Capacity.Or(0)-used)
		if row := snap.Row(e.Event.Row); row != nil {
			used -= row.Used.Or(0)
		}
		fewest, others = min(fewest, used), max(others, used)
		sequences[i] = snap.Sequence
		near = near && snap.Interval <= neighbourTime/2 && at.Sub(snap.Time) < neighbourTime
	}
	seen, ok := e.Free.Value()
	if !ok {
		e.Free, e.FreeAbout = computed(max(free, 0)), true
		return
	}
	used, ok := e.Used.Value()
	// One sample must be from just before the error and one from just after it, and the other processes
	// must use nearly as much in both.
	ok = ok && !e.UsedLeast && near && sequences[0] != sequences[1] && others-fewest <= samePeak
	if withheld := e.Capacity.Or(0) - others - used - seen; ok && seen < e.Requested.Or(0) && withheld >= e.Requested.Or(0)+samePeak {
		e.Withheld, e.Free, e.FreeAbout = computed(withheld), computed(seen+withheld), true
	}
}

func computed(v quantity.Bytes) snapshot.Bytes { return quantity.From(v, quantity.Computed) }

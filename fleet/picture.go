package fleet

import (
	"cmp"
	"net"
	"strings"
	"time"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Picture is a fleet at a moment. It does not change once it is in a View.
type Picture struct {
	Time      time.Time // by the clock of the source
	Unit      Unit      // never Fitting
	Lines     []Line
	Queries   string       // Recorded or Raw; "": no engine is asked
	Down      snapshot.Int // the number of boxes that do not answer, unknown if there may be more
	Simulated bool
	Problems  []string // what could not be read, and what to do about it
}

// The two ways to ask an engine: for the series of recording rules, or for the rules' expressions.
const (
	Recorded = "recorded"
	Raw      = "raw"
)

// Totals are the sums over all GPUs that answer. If the filter names users or jobs, used memory
// and its parts are their processes', and Own is set.
type Totals struct {
	Own               bool
	GPUs, Boxes, Down snapshot.Int
	Memory            snapshot.Memory
	Parts             snapshot.Parts
	Problems          []string
}

// Line is a GPU or a box or, with an empty Box, the memory of the processes of a user or job.
type Line struct {
	Box  string // names the box to its source: Prometheus' instance, or ssh's destination
	Host string // the box's own name, "" if unknown
	// GPU is the GPU or, with the index -1, the sum of a box's GPUs or of the processes.
	GPU  snapshot.GPU
	GPUs int // how many the box has, or how many these processes use
	// Idle counts the GPUs that hold memory and run nothing. In the line of a user or a job, Boxes and
	// Jobs count the boxes and the jobs of its processes.
	Idle, Boxes, Jobs snapshot.Int

	State    State
	Why      string // why the state is not OK
	Alert    snapshot.AlertKind
	Severity snapshot.Severity
	// User, Program and Job are those of the process with the most memory on the GPU, or name the user or job of the line.
	User, Program, Job string
}

// State is how a box or GPU answers.
type State uint8

// A box that is down has no figures; a box that is stopped has old figures.
const (
	OK State = iota
	Asking
	Down
	Stopped
)

// Name returns the box's name without the port of its exporter, or the job's or user's name.
func (l *Line) Name() string {
	if l.Box == "" {
		return cmp.Or(l.Job, l.User)
	}
	if l.Host != "" {
		return l.Host
	}
	if host, _, err := net.SplitHostPort(l.Box); err == nil && host != "" {
		return host
	}
	return l.Box
}

// StateWord returns the state in a word: the box's or, if the box answers, the GPU's.
func (l *Line) StateWord() string {
	if l.State == OK {
		return string(cmp.Or(l.GPU.State, snapshot.GPUOK))
	}
	return [...]string{OK: "ok", Asking: "asking", Down: "down", Stopped: "stopped"}[l.State]
}

// Key identifies a line by the box and the GPU, or by the user and the job.
func (l *Line) Key() string {
	if l.Box == "" {
		return l.User + "\x00" + l.Job
	}
	return l.Box + "\x00" + l.GPU.UUID
}

// Used returns the used share of the memory, false if unknown.
func (l *Line) Used() (float64, bool) {
	used, known := l.GPU.Memory.Used.Value()
	capacity := l.GPU.Memory.Capacity().Or(0)
	if !known || capacity <= 0 {
		return 0, false
	}
	return float64(used) / float64(capacity), true
}

// partsOf returns the parts of a GPU by its exported sums. Cached memory that no flush frees counts as
// fragmented, and used memory that no probe explains as unknown.
func partsOf(used, allocated, cached, fragmented, returnable snapshot.Bytes) snapshot.Parts {
	p := snapshot.Parts{Allocated: allocated, Fragmented: fragmented, Returnable: returnable}
	if kept := cached.Or(0) - returnable.Or(cached.Or(0)); kept > 0 {
		p.Fragmented = quantity.From(fragmented.Or(0)+kept, quantity.Computed)
	}
	if u, known := used.Value(); known {
		rest := u - p.Allocated.Or(0) - p.Fragmented.Or(0) - p.Returnable.Or(0)
		p.Unknown = quantity.From(max(rest, 0), quantity.Computed)
	}
	return p
}

// sum adds a GPU to the sum of its box.
func sum(box, g *snapshot.GPU) {
	add := func(to *snapshot.Bytes, more snapshot.Bytes) { *to = quantity.Sum(*to, more) }
	add(&box.Memory.Used, g.Memory.Used)
	add(&box.Memory.Total, g.Memory.Total)
	add(&box.Memory.Free, g.Memory.Free)
	add(&box.Memory.Reserved, g.Memory.Reserved)
	add(&box.Parts.Other, g.Parts.Other)
	add(&box.Parts.Unknown, g.Parts.Unknown)
	add(&box.Parts.Allocated, g.Parts.Allocated)
	add(&box.Parts.Fragmented, g.Parts.Fragmented)
	add(&box.Parts.Returnable, g.Parts.Returnable)
	if t, ok := g.Temperature.Value(); ok {
		box.Temperature = quantity.From(max(box.Temperature.Or(t), t), g.Temperature.Source())
	}
	if w, ok := g.Power.Value(); ok {
		box.Power = quantity.From(box.Power.Or(0)+w, g.Power.Source())
	}
	if g.FullIn != nil && (box.FullIn == nil || g.FullIn.Median < box.FullIn.Median) {
		box.FullIn = g.FullIn
	}
	if box.Name == "" {
		box.Name = strings.Clone(g.Name)
	}
}

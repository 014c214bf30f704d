package report

import (
	"time"

	"vramscope/sampler/snapshot"
)

// Sizes in rows are in bytes, and unknown where no probe reported them.

// GPU is a GPU that was recorded.
type GPU struct {
	UUID     string
	Index    int
	Name     string
	Capacity snapshot.Bytes // total, less what the driver keeps for itself
}

// Process is a process on a GPU.
type Process struct {
	ID      snapshot.RowID
	Started time.Time
	User    string
	Name    string
	Command string
	Job     string
	First   time.Time // when it was first recorded
	Ended   time.Time // zero while it runs
	Watched bool      // a probe counts its out-of-memory errors
}

// Spread is what a size was over some time.
type Spread struct{ Min, Mean, Max snapshot.Bytes }

// Percents is what a utilisation was over some time.
type Percents struct{ Min, Mean, Max snapshot.Float }

// Minute is a minute of a GPU.
type Minute struct {
	Time        time.Time // its beginning
	GPUUUID     string
	Covered     time.Duration // how much of it was recorded
	Used        Spread
	Free        Spread
	Allocated   Spread
	Cached      Spread
	Fragmented  Spread
	Other       Spread
	Unknown     Spread
	Utilization Percents
}

// FiveMinutes is five minutes of a process on a GPU.
type FiveMinutes struct {
	Time        time.Time
	Process     snapshot.RowID
	Covered     time.Duration
	Used        Spread
	Allocated   Spread
	Cached      Spread
	Fragmented  Spread
	Other       Spread
	Utilization Percents     // of the GPU's multiprocessors, by the process
	Retries     snapshot.Int // since the process began
	Steps       snapshot.Int // likewise
}

// OutOfMemory is an out-of-memory error.
type OutOfMemory struct {
	Time    time.Time
	GPUUUID string
	Process snapshot.RowID
	Message string
}

// Alert is an alert of any kind, with what was forecast when it was raised.
type Alert struct {
	Time     time.Time
	Since    time.Time // when it was raised: an alert is recorded anew where a day or a recorder begins
	Kind     snapshot.AlertKind
	GPUUUID  string
	Instance snapshot.InstanceID
	Process  snapshot.RowID
	Message  string
	FullIn   *snapshot.FullIn // nil where none was recorded
}

// Action is something that was done to a process.
type Action struct {
	Time    time.Time
	Kind    snapshot.EventKind
	GPUUUID string
	Process snapshot.RowID
	Message string
	Freed   snapshot.Bytes
	// Stayed is what of it the process had not taken again after each of Stays.
	Stayed [len(Stays)]snapshot.Bytes
}

// Stays is when it is looked whether freed memory has stayed free.
var Stays = [...]time.Duration{time.Minute, 10 * time.Minute}

package schema

import (
	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// Report is what `vramscope report --format json` writes (docs/report.md).
type Report struct {
	Schema        string            `json:"schema"`
	Time          Time              `json:"time"`
	Host          Text              `json:"host"`
	Simulated     bool              `json:"simulated"`
	Period        ReportPeriod      `json:"period"`
	GPUs          []ReportGPU       `json:"gpus"`
	Total         ReportTotal       `json:"total"`
	By            string            `json:"by"`
	Groups        []ReportGroup     `json:"groups"`
	LeftOut       int               `json:"groups_left_out"`
	Flushes       ReportFlushes     `json:"flushes"`
	Forecaster    ReportForecaster  `json:"forecaster"`
	Events        []ReportEvent     `json:"events"`
	EventsLeftOut int               `json:"events_left_out"`
	Comparison    *ReportComparison `json:"comparison"`
}

// ReportPeriod is the time that a report covers. RecordedSeconds is the part with samples.
type ReportPeriod struct {
	From            Time    `json:"from"`
	To              Time    `json:"to"`
	Seconds         float64 `json:"seconds"`
	RecordedSeconds float64 `json:"recorded_seconds"`
}

type ReportGPU struct {
	GPU             int            `json:"gpu"`
	UUID            string         `json:"uuid"`
	Name            Text           `json:"name"`
	CapacityBytes   snapshot.Bytes `json:"capacity_bytes"`
	RecordedSeconds float64        `json:"recorded_seconds"`

	Memory             ReportMemory   `json:"memory"`
	UtilizationPercent snapshot.Float `json:"utilization_percent"`
	IdleHours          snapshot.Float `json:"idle_holding_hours"`
	EnergyKWh          snapshot.Float `json:"energy_kwh"`
	PeakBytes          snapshot.Bytes `json:"peak_bytes"`
	PeakTime           Time           `json:"peak_time"`
	Failures           ReportFailures `json:"failures"`
	Timeline           []ReportPoint  `json:"timeline"`
}

// ReportMemory sums up memory over time; unknown parts are null.
type ReportMemory struct {
	Used       *ReportAmount `json:"used"`
	Allocated  *ReportAmount `json:"allocated"`
	Cached     *ReportAmount `json:"cached"`
	Fragmented *ReportAmount `json:"fragmented"`
	Other      *ReportAmount `json:"other"`
	Unknown    *ReportAmount `json:"unknown"`
	Free       *ReportAmount `json:"free"`
}

// ReportTotal sums up all GPUs, also for RecordedSeconds.
type ReportTotal struct {
	RecordedSeconds    float64        `json:"recorded_seconds"`
	Memory             ReportMemory   `json:"memory"`
	UtilizationPercent snapshot.Float `json:"utilization_percent"`
	IdleHours          snapshot.Float `json:"idle_holding_hours"`
	EnergyKWh          snapshot.Float `json:"energy_kwh"`
	WastedGiBHours     snapshot.Float `json:"wasted_gib_hours"`
	Failures           ReportFailures `json:"failures"`
}

// ReportAmount is memory over time, in GiB·h and in per cent of the capacity while the GPU was recorded.
type ReportAmount struct {
	GiBHours float64        `json:"gib_hours"`
	Percent  snapshot.Float `json:"percent"`
}

// ReportFailures is how often memory ran out, in all and per recorded hour.
type ReportFailures struct {
	OutOfMemory        quantity.Optional[int64] `json:"out_of_memory_count"` // null if nothing watched for it
	OutOfMemoryPerHour snapshot.Float           `json:"out_of_memory_per_hour"`
	Retries            quantity.Optional[int64] `json:"alloc_retries"`
	RetriesPerHour     snapshot.Float           `json:"alloc_retries_per_hour"`
	// Rescued and NotRescued count the allocations that waited for other processes to free memory.
	Rescued    int `json:"rescued_count"`
	NotRescued int `json:"not_rescued_count"`
}

// ReportPoint is a bucket of a GPU's timeline. Its figures are means over recorded time, except
// UsedMaxBytes.
type ReportPoint struct {
	Time               Time           `json:"time"`
	RecordedSeconds    float64        `json:"recorded_seconds"`
	UsedBytes          snapshot.Bytes `json:"used_bytes"`
	UsedMaxBytes       snapshot.Bytes `json:"used_max_bytes"`
	AllocatedBytes     snapshot.Bytes `json:"allocated_bytes"`
	CachedBytes        snapshot.Bytes `json:"cached_bytes"`
	FragmentedBytes    snapshot.Bytes `json:"fragmented_bytes"`
	OtherBytes         snapshot.Bytes `json:"other_bytes"`
	UnknownBytes       snapshot.Bytes `json:"unknown_bytes"`
	UtilizationPercent snapshot.Float `json:"utilization_percent"`
}

// ReportGroup sums the processes of one user, job, account or command. In a report by GPU, it is one
// process on one GPU.
type ReportGroup struct {
	Name      string       `json:"name"`
	Processes int          `json:"processes"`
	GPUs      []int        `json:"gpus"`
	PID       snapshot.Int `json:"pid"`
	StartTime Time         `json:"start_time"`
	User      Text         `json:"user"`
	Job       Text         `json:"job"`

	RecordedSeconds    float64        `json:"recorded_seconds"` // summed over processes and GPUs
	UsedGiBHours       snapshot.Float `json:"used_gib_hours"`
	AllocatedGiBHours  snapshot.Float `json:"allocated_gib_hours"`
	CachedGiBHours     snapshot.Float `json:"cached_gib_hours"`
	FragmentedGiBHours snapshot.Float `json:"fragmented_gib_hours"`
	OtherGiBHours      snapshot.Float `json:"other_gib_hours"`
	IdleGiBHours       snapshot.Float `json:"idle_gib_hours"`
	WastedGiBHours     snapshot.Float `json:"wasted_gib_hours"`

	PeakBytes      snapshot.Bytes `json:"peak_bytes"`
	Failures       ReportFailures `json:"failures"`
	StepsPerSecond snapshot.Float `json:"steps_per_second"`

	// Shares of GPU time and energy. The shares of the processes on a GPU add up to the GPU.
	HeldGPUHours snapshot.Float `json:"held_gpu_hours"`
	BusyGPUHours snapshot.Float `json:"used_gpu_hours"`
	IdleGPUHours snapshot.Float `json:"idle_gpu_hours"`
	EnergyKWh    snapshot.Float `json:"energy_kwh"`
	Jobs         snapshot.Int   `json:"jobs"` // null if no job is known
}

// ReportFlushes is the memory that flushes freed, and how much of it stayed free.
type ReportFlushes struct {
	Count       int             `json:"count"`
	FreedBytes  snapshot.Bytes  `json:"freed_bytes"` // null if no flush was measured
	StayedFree  []ReportStaying `json:"stayed_free"`
	NotMeasured int             `json:"not_measured"` // flushes whose freed memory is unknown
}

// ReportStaying is how much of the freed memory was still free after a while. It sums the flushes for
// which that is known.
type ReportStaying struct {
	AfterSeconds float64        `json:"after_seconds"`
	Flushes      int            `json:"flushes"`
	FreedBytes   quantity.Bytes `json:"freed_bytes"`
	StayedBytes  quantity.Bytes `json:"stayed_bytes"`
}

// ReportForecaster compares the alerts that a GPU will be full with the times when memory ran out.
type ReportForecaster struct {
	Alerts     int            `json:"alerts"`
	Hits       int            `json:"hits"`
	False      int            `json:"false"`
	ActedOn    int            `json:"acted_on"`
	Undecided  int            `json:"undecided"`
	Fills      snapshot.Int   `json:"fills"` // fills, missed and sudden are null if neither used memory nor errors are known
	Missed     snapshot.Int   `json:"missed"`
	Sudden     snapshot.Int   `json:"sudden"`
	MedianLead snapshot.Float `json:"median_lead_seconds"`
	// The time to full that the alerts forecast, compared with the actual one.
	MedianError  snapshot.Float    `json:"median_error_percent"`
	IntervalHeld int               `json:"interval_held"`
	IntervalOf   int               `json:"interval_of"`
	OtherAlerts  []ReportAlertKind `json:"other_alerts"`
}

type ReportAlertKind struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

type ReportEvent struct {
	Time    Time   `json:"time"`
	GPU     int    `json:"gpu"`
	UUID    string `json:"uuid"`
	Kind    string `json:"kind"`
	Outcome Text   `json:"outcome"` // the outcome of an alert that the GPU will be full
	Process Text   `json:"process"`
	Message Text   `json:"message"`
}

// ReportComparison compares an earlier period (first) with the report's own (second).
type ReportComparison struct {
	First ReportPeriod     `json:"first"`
	Lines []ReportCompared `json:"lines"`
}

// ReportCompared is one figure in both periods. BeyondNoise is null if too few hours were recorded.
type ReportCompared struct {
	Name        string         `json:"name"`
	Unit        string         `json:"unit"`
	First       snapshot.Float `json:"first"`
	Second      snapshot.Float `json:"second"`
	Difference  snapshot.Float `json:"difference"`
	Noise       snapshot.Float `json:"noise"`
	BeyondNoise *bool          `json:"beyond_noise"`
}

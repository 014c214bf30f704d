package metric

import (
	"strings"
	"time"
)

// The exported names. A row of Table has the end of a name, such as "memory_used_bytes"; the
// beginning depends on the subject:
//
//	vramscope_gpu_memory_used_bytes      of a GPU
//	vramscope_mig_memory_used_bytes      of a MIG instance
//	vramscope_process_memory_used_bytes  of a process
//
// The values are in Prometheus' base units; a name that ends in _total is a counter, every other
// one is a gauge. https://prometheus.io/docs/practices/naming/

// ExportedAs returns the exported name for a subject, "" if the metric is not exported. For a GPU and
// an instance, the exporter also sums each metric of processes.
func (m *Metric) ExportedAs(of Subject) string {
	switch {
	case m.Prometheus == "":
		return ""
	case of == Process && m.Of&^m.Live&Process != 0:
		return "vramscope_process_" + m.Prometheus
	case of == Instance:
		return "vramscope_mig_" + m.Prometheus
	case of == GPU:
		return "vramscope_gpu_" + m.Prometheus
	}
	return ""
}

// ExportedHelp returns the exported help text, without Help's remark about null: an unknown value
// has no series.
func (m *Metric) ExportedHelp() string {
	help, _, _ := strings.Cut(m.Help, "; `null`")
	if m.Unit == Percent {
		help += ", 0 to 1"
	}
	return strings.ToUpper(help[:1]) + help[1:] + "."
}

// IsCounter reports whether an exported name names a counter.
func IsCounter(name string) bool { return strings.HasSuffix(name, "_total") }

// Base converts a value of the unit to Prometheus' base unit.
func (u Unit) Base(value float64) float64 {
	switch u {
	case Percent:
		return value / 100
	case Megahertz:
		return value * 1e6
	default:
		return value
	}
}

// Exported is a metric of the exporter that has no row in Table.
type Exported struct {
	Name   string
	Labels []string // in addition to its subject's labels
	Of     Subject  // 0: of the box or of a server
	Help   string
}

// Recorder is the exported state of a recorder.
type Recorder struct {
	Paused  bool
	Reason  string    // why it is paused
	Errors  int64     // writes that failed
	Lost    int64     // samples that are gaps
	Written time.Time // the time of the last commit; zero before the first one
}

// ExportedID names a metric that is exported and not in Table.
type ExportedID uint8

const (
	HostInfo ExportedID = iota
	LastSample
	SampleInterval
	DriverState
	ProbesAnswering
	ProbesUnasked
	DriverFailures
	RecordingPaused
	RecordingErrors
	RecordingLost
	RecordingWritten
	GuardState
	LateSamples

	GPUInfo
	GPUState
	GPUProcesses
	GPUThrottled
	FullIn
	FullInEarliest
	FullInLatest
	Predicted
	ECCEnabled
	ECCErrors
	XIDErrors
	OutOfMemory
	AllocRetries
	Alerts
	Flushes
	FlushedBytes
	GuardDecisions
	Rescues

	MIGInfo
	MIGFullIn
	ProcessInfo
	ServerMemory
	ServerKVCacheUsed
	ServerRequests
	ExportedCount // how many there are
)

// ExportTable describes the metrics that are exported in addition to Table.
var ExportTable = [ExportedCount]Exported{
	HostInfo: {Name: "vramscope_host_info", Labels: []string{"host", "version", "driver_version", "cuda_version", "simulated"},
		Help: "1, with the box's name and versions as labels. simulated is \"true\" where no GPU was read."},
	LastSample:       {Name: "vramscope_last_sample_timestamp_seconds", Help: "When the exported figures were read, in Unix time."},
	SampleInterval:   {Name: "vramscope_sample_interval_seconds", Help: "Time between two samples."},
	DriverState:      {Name: "vramscope_driver_state", Labels: []string{"state"}, Help: "1 for the state that the driver is in: ok, absent, not_loaded, gone, no_cgo or starting."},
	ProbesAnswering:  {Name: "vramscope_probes_answering", Help: "Processes whose probe answers."},
	ProbesUnasked:    {Name: "vramscope_probes_unasked", Help: "Processes that may have a probe which has not been asked yet."},
	RecordingPaused:  {Name: "vramscope_recording_paused", Help: "1 where nothing can be recorded, for a full disk for instance, else 0. No series: the daemon does not record."},
	DriverFailures:   {Name: "vramscope_driver_failures_total", Help: "Times that the driver could not be opened, or was lost, since the daemon started; it is tried again at least every 30 s."},
	RecordingErrors:  {Name: "vramscope_recording_errors_total", Help: "Times that writing the recording failed, since the daemon started."},
	RecordingLost:    {Name: "vramscope_recording_lost_samples_total", Help: "Samples that are gaps in the recording, since the daemon started: the disk was too slow, or recording was paused."},
	RecordingWritten: {Name: "vramscope_recording_last_write_timestamp_seconds", Help: "When the newest sample came to be on disk, in Unix time. No series before the first."},
	GuardState:       {Name: "vramscope_guard_state", Labels: []string{"state"}, Help: "1 for the state that the guard is in: dry-run, act, paused or cannot_act. No series: it is off, or there is none."},
	LateSamples:      {Name: "vramscope_late_samples_total", Help: "Samples that came more than two intervals after the one before, since the exporter started."},

	GPUInfo:        {Name: "vramscope_gpu_info", Of: GPU, Labels: []string{"name", "pci_bus_id"}, Help: "1, with the GPU's names as labels."},
	GPUState:       {Name: "vramscope_gpu_state", Of: GPU, Labels: []string{"state"}, Help: "1 for the state that the GPU is in: ok, lost, hanging, error, or unlisted (only a probe names it)."},
	GPUProcesses:   {Name: "vramscope_gpu_processes", Of: GPU, Help: "Processes on the GPU."},
	GPUThrottled:   {Name: "vramscope_gpu_throttled", Of: GPU, Labels: []string{"reason"}, Help: "1 for each reason that holds the clocks down."},
	FullIn:         {Name: "vramscope_gpu_full_in_seconds", Of: GPU, Help: "Time until the memory is full, the median. No series: no forecast of that."},
	FullInEarliest: {Name: "vramscope_gpu_full_in_earliest_seconds", Of: GPU, Help: "Time until the memory is full: the early end of the forecast's 80 % interval."},
	FullInLatest:   {Name: "vramscope_gpu_full_in_latest_seconds", Of: GPU, Help: "Time until the memory is full: the late end of the forecast's 80 % interval. No series: the interval has no late end."},
	Predicted:      {Name: "vramscope_gpu_memory_predicted_bytes", Of: GPU, Labels: []string{"horizon"}, Help: "Predicted used memory, the median, in so many seconds (horizon)."},
	ECCEnabled:     {Name: "vramscope_gpu_ecc_enabled", Of: GPU, Help: "Whether error correction is on: 1 or 0."},
	ECCErrors:      {Name: "vramscope_gpu_ecc_errors_total", Of: GPU, Labels: []string{"type"}, Help: "Memory errors since the driver was loaded: corrected or uncorrected."},
	XIDErrors:      {Name: "vramscope_gpu_xid_errors_total", Of: GPU, Labels: []string{"xid"}, Help: "Critical errors that the driver reported since the exporter started."},
	OutOfMemory:    {Name: "vramscope_gpu_out_of_memory_total", Of: GPU, Help: "Allocations that failed for lack of memory, as probes report them, since the exporter started. No series before a probe reports on the GPU; 0 in the minute after that."},
	AllocRetries:   {Name: "vramscope_gpu_alloc_retries_total", Of: GPU, Help: "Allocations for which an allocator had to free its cache, as probes report them, since the exporter started. No series before a probe reports on the GPU; 0 in the minute after that."},
	Alerts:         {Name: "vramscope_alerts", Of: GPU, Labels: []string{"kind", "severity"}, Help: "Alerts that stand. Without gpu and uuid: about the box."},
	Flushes:        {Name: "vramscope_gpu_flushes_total", Of: GPU, Help: "Flushes by the daemon since the exporter started."},
	FlushedBytes:   {Name: "vramscope_gpu_flushed_bytes_total", Of: GPU, Help: "Memory that flushes by the daemon freed, by the driver's figure, since the exporter started."},
	GuardDecisions: {Name: "vramscope_guard_decisions_total", Labels: []string{"rule", "kind"}, Help: "Decisions of the guard since the exporter started."},
	Rescues:        {Name: "vramscope_rescues_total", Labels: []string{"outcome"}, Help: "Failed allocations for which other processes freed memory, since the exporter started: rescued or not_rescued."},

	MIGInfo:     {Name: "vramscope_mig_info", Of: Instance, Labels: []string{"mig_uuid", "profile"}, Help: "1, with the instance's names as labels."},
	MIGFullIn:   {Name: "vramscope_mig_full_in_seconds", Of: Instance, Help: "Time until the instance's memory is full, the median. No series: no forecast of that."},
	ProcessInfo: {Name: "vramscope_process_info", Of: Process, Labels: []string{"user", "runtime", "name", "hpc_job", "namespace", "pod", "container"}, Help: "1, with the process's names as labels."},

	ServerMemory:      {Name: "vramscope_server_memory_bytes", Labels: []string{"pid", "server", "part"}, Help: "Memory of a watched server, as reported by the server: kv_cache, weights, graphs or models. No series: it does not say, or the driver reports less."},
	ServerKVCacheUsed: {Name: "vramscope_server_kv_cache_usage_ratio", Labels: []string{"pid", "server"}, Help: "Share of its KV cache that a watched server has in use, as reported by the server, 0 to 1."},
	ServerRequests:    {Name: "vramscope_server_requests", Labels: []string{"pid", "server"}, Help: "Requests that run or wait in a watched server, as reported by the server."},
}

// ProcessLabels returns the labels that the series of a process can have, except uuid and mig.
func ProcessLabels() []string { return append([]string{"pid"}, ExportTable[ProcessInfo].Labels...) }

// Labels returns the labels of a subject's series. Those of a process on a MIG instance also have mig.
func (s Subject) Labels() []string {
	switch s {
	case GPU:
		return []string{"gpu", "uuid"}
	case Instance:
		return []string{"gpu", "uuid", "mig"}
	case Process:
		return []string{"uuid", "pid"}
	default:
		return nil
	}
}

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"vramscope/internal/quantity"
	"vramscope/sampler/snapshot"
)

// The types below are the JSON schema "vramscope/1", documented in
// docs/json.md. They are apart from the snapshot's own types, so that the
// program can change without its output changing. Unknown is null, sizes are
// integers in bytes, and no field is ever left out.

const schema = "vramscope/1"

type document struct {
	Schema     string      `json:"schema"`
	Time       timestamp   `json:"time"`
	Host       string      `json:"host"`
	Simulated  bool        `json:"simulated"`
	Driver     driverJSON  `json:"driver"`
	GPUs       []gpuJSON   `json:"gpus"`
	HostMemory hostMemory  `json:"host_memory"`
	Alerts     []alertJSON `json:"alerts"`
}

type driverJSON struct {
	Version     jsonText `json:"version"`
	CUDAVersion jsonText `json:"cuda_version"`
	State       string   `json:"state"`
	Message     jsonText `json:"message"`
	MemoryCall  jsonText `json:"memory_call"`
}

type gpuJSON struct {
	Index    *int      `json:"index"`
	UUID     string    `json:"uuid"`
	Name     jsonText  `json:"name"`
	PCIBusID jsonText  `json:"pci_bus_id"`
	State    string    `json:"state"`
	Since    timestamp `json:"state_since"`
	Message  jsonText  `json:"message"`

	Memory            memoryJSON     `json:"memory"`
	UnattributedBytes snapshot.Bytes `json:"unattributed_bytes"`
	ReturnableBytes   snapshot.Bytes `json:"returnable_bytes"`

	UtilizationPercent         snapshot.Int   `json:"utilization_percent"`
	MemoryUtilizationPercent   snapshot.Int   `json:"memory_utilization_percent"`
	TemperatureCelsius         snapshot.Int   `json:"temperature_celsius"`
	TemperatureSlowdownCelsius snapshot.Int   `json:"temperature_slowdown_celsius"`
	PowerWatts                 snapshot.Float `json:"power_watts"`
	PowerLimitWatts            snapshot.Float `json:"power_limit_watts"`
	SMClockMHz                 snapshot.Int   `json:"sm_clock_mhz"`
	MemoryClockMHz             snapshot.Int   `json:"memory_clock_mhz"`
	Throttled                  []string       `json:"throttled"`
	ECC                        eccJSON        `json:"ecc"`
	XIDs                       []xidJSON      `json:"xids"`

	MIG       bool            `json:"mig"`
	Instances []instanceJSON  `json:"instances"`
	FullIn    *fullInJSON     `json:"full_in"`
	Processes []processJSON   `json:"processes"`
	Predicted []predictedJSON `json:"predicted"`
}

type memoryJSON struct {
	TotalBytes    snapshot.Bytes `json:"total_bytes"`
	UsedBytes     snapshot.Bytes `json:"used_bytes"`
	FreeBytes     snapshot.Bytes `json:"free_bytes"`
	ReservedBytes snapshot.Bytes `json:"reserved_bytes"`
	Source        jsonText       `json:"source"`
}

type eccJSON struct {
	Enabled     quantity.Optional[bool]   `json:"enabled"`
	Corrected   quantity.Optional[uint64] `json:"corrected"`
	Uncorrected quantity.Optional[uint64] `json:"uncorrected"`
}

type xidJSON struct {
	Code uint64    `json:"code"`
	Time timestamp `json:"time"`
}

type instanceJSON struct {
	GPUInstance     uint32         `json:"gpu_instance"`
	ComputeInstance uint32         `json:"compute_instance"`
	UUID            string         `json:"uuid"`
	Profile         jsonText       `json:"profile"`
	Memory          memoryJSON     `json:"memory"`
	ReturnableBytes snapshot.Bytes `json:"returnable_bytes"`

	FullIn    *fullInJSON     `json:"full_in"`
	Predicted []predictedJSON `json:"predicted"`
}

type fullInJSON struct {
	MedianSeconds   float64  `json:"median_seconds"`
	EarliestSeconds float64  `json:"earliest_seconds"`
	LatestSeconds   *float64 `json:"latest_seconds"`
}

// evictableJSON is a cache that a program has registered.
type evictableJSON struct {
	Name     jsonText       `json:"name"`
	Priority float64        `json:"priority"`
	Bytes    snapshot.Bytes `json:"bytes"`
}

type processJSON struct {
	PID             int       `json:"pid"`
	StartTime       timestamp `json:"start_time"`
	User            jsonText  `json:"user"`
	Type            jsonText  `json:"type"`
	Runtime         jsonText  `json:"runtime"`
	Name            jsonText  `json:"name"`
	Command         jsonText  `json:"command"`
	Job             jsonText  `json:"job"`
	GPUInstance     *uint32   `json:"gpu_instance"`
	ComputeInstance *uint32   `json:"compute_instance"`

	UsedBytes       snapshot.Bytes `json:"used_bytes"`
	AllocatedBytes  snapshot.Bytes `json:"allocated_bytes"`
	CachedBytes     snapshot.Bytes `json:"cached_bytes"`
	FragmentedBytes snapshot.Bytes `json:"fragmented_bytes"`
	OtherBytes      snapshot.Bytes `json:"other_bytes"`
	ReturnableBytes snapshot.Bytes `json:"returnable_bytes"`

	Allocators     []allocatorJSON `json:"allocators"`
	RuntimeVersion jsonText        `json:"runtime_version"`
	Evictable      []evictableJSON `json:"evictable"`
	Probe          *probeJSON      `json:"probe"`

	SMUtilizationPercent snapshot.Int    `json:"sm_utilization_percent"`
	CPUPercent           snapshot.Float  `json:"cpu_percent"`
	HostBytes            snapshot.Bytes  `json:"host_bytes"`
	Predicted            []predictedJSON `json:"predicted"`
	PredictedAllocated   []predictedJSON `json:"predicted_allocated"`
}

type allocatorJSON struct {
	Kind             string                   `json:"kind"`
	Basis            jsonText                 `json:"basis"`
	ReservedBytes    snapshot.Bytes           `json:"reserved_bytes"`
	AllocatedBytes   snapshot.Bytes           `json:"allocated_bytes"`
	CachedBytes      snapshot.Bytes           `json:"cached_bytes"`
	FragmentedBytes  snapshot.Bytes           `json:"fragmented_bytes"`
	ReturnableBytes  snapshot.Bytes           `json:"returnable_bytes"`
	PendingBytes     snapshot.Bytes           `json:"pending_bytes"`
	LargestFreeBytes snapshot.Bytes           `json:"largest_free_bytes"`
	Segments         quantity.Optional[int64] `json:"segments"`
	OutOfMemoryCount quantity.Optional[int64] `json:"out_of_memory_count"`
	AllocRetries     quantity.Optional[int64] `json:"alloc_retries"`

	PeakAllocatedBytes snapshot.Bytes           `json:"peak_allocated_bytes"`
	PeakReservedBytes  snapshot.Bytes           `json:"peak_reserved_bytes"`
	Blocks             quantity.Optional[int64] `json:"blocks"`
	StrandedSegments   quantity.Optional[int64] `json:"stranded_segments"`
	Config             jsonText                 `json:"config"`
	Pools              []poolJSON               `json:"pools"`
	Largest            []allocationJSON         `json:"largest"`
}

type poolJSON struct {
	Name            jsonText                 `json:"name"`
	ReservedBytes   snapshot.Bytes           `json:"reserved_bytes"`
	AllocatedBytes  snapshot.Bytes           `json:"allocated_bytes"`
	FragmentedBytes snapshot.Bytes           `json:"fragmented_bytes"`
	Segments        quantity.Optional[int64] `json:"segments"`
}

type allocationJSON struct {
	Bytes      quantity.Bytes `json:"bytes"`
	AgeSeconds snapshot.Float `json:"age_seconds"`
	API        jsonText       `json:"api"`
	Library    jsonText       `json:"library"`
}

type probeJSON struct {
	State            string                   `json:"state"`
	AgeSeconds       float64                  `json:"age_seconds"`
	OutOfMemoryCount quantity.Optional[int64] `json:"out_of_memory_count"`
	AllocRetries     quantity.Optional[int64] `json:"alloc_retries"`
	StartedBy        jsonText                 `json:"started_by"`
	Capabilities     []jsonText               `json:"capabilities"`
}

type predictedJSON struct {
	HorizonSeconds float64        `json:"horizon_seconds"`
	MedianBytes    quantity.Bytes `json:"median_bytes"`
	Lower80Bytes   quantity.Bytes `json:"lower80_bytes"`
	Upper80Bytes   quantity.Bytes `json:"upper80_bytes"`
	Lower95Bytes   quantity.Bytes `json:"lower95_bytes"`
	Upper95Bytes   quantity.Bytes `json:"upper95_bytes"`
}

type hostMemory struct {
	TotalBytes snapshot.Bytes `json:"total_bytes"`
	UsedBytes  snapshot.Bytes `json:"used_bytes"`
}

type alertJSON struct {
	Kind     string `json:"kind"`
	Severity string `json:"severity"`
	GPU      *int   `json:"gpu"`
	PID      *int   `json:"pid"`
	Message  string `json:"message"`
}

// jsonText is a string of which "" means unknown.
type jsonText string

// MarshalJSON writes null for an empty text.
func (t jsonText) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	// A command line may be any bytes; JSON must be UTF-8.
	return json.Marshal(strings.ToValidUTF8(string(t), "\uFFFD"))
}

// timestamp is RFC 3339 with milliseconds; the zero time is unknown.
type timestamp time.Time

// MarshalJSON writes null for the zero time.
func (t timestamp) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return time.Time(t).AppendFormat(nil, `"2006-01-02T15:04:05.000Z07:00"`), nil
}

// writeJSON writes a snapshot as one indented document.
func writeJSON(w io.Writer, snap *snapshot.Snapshot) error {
	text, err := encodeJSON(documentOf(snap))
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// encodeJSON is how every command writes JSON: indented, for people too, and
// safe to show in a terminal.
func encodeJSON(value any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return escapeControls(buf.Bytes()), nil
}

// escapeControls writes DEL and the C1 controls, which JSON leaves as they
// are and terminals may obey, as \u escapes. In valid JSON they can only be
// inside a string.
func escapeControls(encoded []byte) []byte {
	if !bytes.ContainsFunc(encoded, isC1) {
		return encoded
	}
	escaped := make([]byte, 0, len(encoded)+64)
	for len(encoded) > 0 {
		r, size := utf8.DecodeRune(encoded)
		if isC1(r) {
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		} else {
			escaped = append(escaped, encoded[:size]...)
		}
		encoded = encoded[size:]
	}
	return escaped
}

func isC1(r rune) bool { return r >= 0x7f && r <= 0x9f }

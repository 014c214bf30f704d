package metric

import "vramscope/internal/quantity"

// Shorthand for the optional values of a metric.
type (
	Int   = quantity.Optional[int]
	Float = quantity.Optional[float64]
)

// ID names a metric within one release. Saved data has the Name instead.
type ID uint8

// The metrics. Those from Utilization on are the sensors of a GPU.
const (
	Used ID = iota
	Allocated
	Cached
	Fragmented
	Returnable
	Host
	CPU
	SMUtilization
	Other
	Total
	Free
	Reserved
	Unattributed
	Steps
	Asleep

	Utilization
	MemoryUtilization
	Temperature
	TemperatureSlowdown
	Power
	PowerLimit
	SMClock
	MemoryClock
	Fan
	PerformanceState
	PCIeReceived
	PCIeSent
	EncoderUtilization
	DecoderUtilization
	SMClockMax
	MemoryClockMax
	ClockReasons
	PCIeGeneration
	PCIeGenerationMax
	PCIeWidth
	PCIeWidthMax
	BAR1Used
	BAR1Total
	RemappedCorrectable
	RemappedUncorrectable
	RemappingPending
	RemappingFailed
	Persistence
	ComputeMode
	NVLinkCount
	NVLinksUp
	NVLinkReceived
	NVLinkSent
	NVLinkErrors
	Energy
	Count // how many there are
)

// Sensors has the figures that the driver reports about a GPU besides its memory.
type Sensors struct {
	Utilization         Int   `json:"utilization_percent"`
	MemoryUtilization   Int   `json:"memory_utilization_percent"`
	Temperature         Int   `json:"temperature_celsius"`
	TemperatureSlowdown Int   `json:"temperature_slowdown_celsius"`
	Power               Float `json:"power_watts"`
	PowerLimit          Float `json:"power_limit_watts"`
	SMClock             Int   `json:"sm_clock_mhz"`
	MemoryClock         Int   `json:"memory_clock_mhz"`
	Fan                 Int   `json:"fan_percent"`
	PerformanceState    Int   `json:"performance_state"`
	PCIeReceived        Int   `json:"pcie_rx_bytes_per_second"`
	PCIeSent            Int   `json:"pcie_tx_bytes_per_second"`

	EncoderUtilization    Int   `json:"encoder_utilization_percent"`
	DecoderUtilization    Int   `json:"decoder_utilization_percent"`
	SMClockMax            Int   `json:"sm_clock_max_mhz"`
	MemoryClockMax        Int   `json:"memory_clock_max_mhz"`
	ClockReasons          Int   `json:"clock_event_reasons"`
	PCIeGeneration        Int   `json:"pcie_generation"`
	PCIeGenerationMax     Int   `json:"pcie_generation_max"`
	PCIeWidth             Int   `json:"pcie_width"`
	PCIeWidthMax          Int   `json:"pcie_width_max"`
	BAR1Used              Int   `json:"bar1_used_bytes"`
	BAR1Total             Int   `json:"bar1_total_bytes"`
	RemappedCorrectable   Int   `json:"remapped_rows_correctable"`
	RemappedUncorrectable Int   `json:"remapped_rows_uncorrectable"`
	RemappingPending      Int   `json:"row_remapping_pending"`
	RemappingFailed       Int   `json:"row_remapping_failed"`
	Persistence           Int   `json:"persistence_mode"`
	ComputeMode           Int   `json:"compute_mode"`
	NVLinkCount           Int   `json:"nvlink_links"`
	NVLinksUp             Int   `json:"nvlink_active_links"`
	NVLinkReceived        Int   `json:"nvlink_rx_bytes_per_second"`
	NVLinkSent            Int   `json:"nvlink_tx_bytes_per_second"`
	NVLinkErrors          Int   `json:"nvlink_errors"`
	Energy                Float `json:"energy_joules"`
}

// Table describes every metric.
var Table = [Count]Metric{
	Used:          {Name: "used_bytes", Prometheus: "memory_used_bytes", Unit: Bytes, Of: GPU | Process, Source: quantity.Driver, History: Recorded, Help: "used memory"},
	Allocated:     {Name: "allocated_bytes", Prometheus: "memory_allocated_bytes", Unit: Bytes, Of: Process, Source: quantity.Probe, History: Recorded, Help: "memory in live blocks of allocators"},
	Cached:        {Name: "cached_bytes", Prometheus: "memory_cached_bytes", Unit: Bytes, Of: Process, Source: quantity.Probe, History: Recorded, Help: "free memory that allocators keep"},
	Fragmented:    {Name: "fragmented_bytes", Prometheus: "memory_fragmented_bytes", Unit: Bytes, Of: Process, Source: quantity.Probe, History: Recorded, Help: "free memory between live blocks, which no flush frees"},
	Returnable:    {Name: "returnable_bytes", Prometheus: "memory_returnable_bytes", Unit: Bytes, Of: Process, Source: quantity.Probe, History: Recorded, Help: "memory that a flush frees: cached, or pending"},
	Host:          {Name: "host_bytes", Unit: Bytes, Of: Process, Source: quantity.System, History: Recorded, Digits: 9, Help: "resident host memory"},
	CPU:           {Name: "cpu_percent", Unit: Percent, Of: Process, Source: quantity.System, History: Recorded, Digits: 6, Help: "of one core"},
	SMUtilization: {Name: "sm_utilization_percent", Unit: Percent, Of: Process, Source: quantity.Driver, History: Recorded, Digits: 6, Help: "of the GPU's multiprocessors"},
	Other:         {Name: "other_bytes", Unit: Bytes, Of: Process, Source: quantity.Computed, Help: "used memory that no allocator reports: CUDA context, kernels"},
	Total:         {Name: "total_bytes", Prometheus: "memory_total_bytes", Unit: Bytes, Of: GPU, Source: quantity.Driver, Help: "memory in all"},
	Free:          {Name: "free_bytes", Prometheus: "memory_free_bytes", Unit: Bytes, Of: GPU, Source: quantity.Driver, Help: "memory that processes can allocate"},
	Reserved:      {Name: "reserved_bytes", Prometheus: "memory_reserved_bytes", Unit: Bytes, Of: GPU, Source: quantity.Driver, Help: "memory that the driver keeps for itself"},
	Steps:         {Name: "steps", Unit: Number, Of: Process, Source: quantity.Probe, History: Recorded, Help: "training steps since the program began; `null` where nothing counts them"},
	Asleep:        {Name: "asleep_bytes", Prometheus: "memory_asleep_bytes", Unit: Bytes, Of: Process, Source: quantity.Probe, History: Recorded, Help: "memory that is asleep: allocators keep its addresses, and it takes none"},
	Unattributed:  {Name: "unattributed_bytes", Prometheus: "memory_unattributed_bytes", Unit: Bytes, Of: GPU, Source: quantity.Computed, Help: "memory used by no process that the driver lists"},

	Utilization: {Name: "utilization_percent", Prometheus: "utilization_ratio", Unit: Percent, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "share of the time in which a kernel ran; `null` under MIG", whole: func(s *Sensors) *Int { return &s.Utilization }},
	MemoryUtilization: {Name: "memory_utilization_percent", Prometheus: "memory_utilization_ratio", Unit: Percent, Of: GPU | Process, Source: quantity.Driver, History: Recorded, Live: Process,
		Help: "share of the time in which memory was read or written", whole: func(s *Sensors) *Int { return &s.MemoryUtilization }},
	Temperature: {Name: "temperature_celsius", Prometheus: "temperature_celsius", Unit: Celsius, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "temperature of the GPU", whole: func(s *Sensors) *Int { return &s.Temperature }},
	TemperatureSlowdown: {Name: "temperature_slowdown_celsius", Prometheus: "temperature_slowdown_celsius", Unit: Celsius, Of: GPU, Source: quantity.Driver, History: Constant,
		Help: "temperature at which the GPU slows itself down", whole: func(s *Sensors) *Int { return &s.TemperatureSlowdown }},
	Power: {Name: "power_watts", Prometheus: "power_watts", Unit: Watts, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "power drawn now", fraction: func(s *Sensors) *Float { return &s.Power }},
	PowerLimit: {Name: "power_limit_watts", Prometheus: "power_limit_watts", Unit: Watts, Of: GPU, Source: quantity.Driver, History: Constant,
		Help: "power limit in force", fraction: func(s *Sensors) *Float { return &s.PowerLimit }},
	SMClock: {Name: "sm_clock_mhz", Prometheus: "sm_clock_hertz", Unit: Megahertz, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "clock of the multiprocessors", whole: func(s *Sensors) *Int { return &s.SMClock }},
	MemoryClock: {Name: "memory_clock_mhz", Prometheus: "memory_clock_hertz", Unit: Megahertz, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "clock of the memory", whole: func(s *Sensors) *Int { return &s.MemoryClock }},
	Fan: {Name: "fan_percent", Prometheus: "fan_speed_ratio", Unit: Percent, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "fan speed, of its maximum; `null` where the board has no fan", whole: func(s *Sensors) *Int { return &s.Fan }},
	PerformanceState: {Name: "performance_state", Prometheus: "performance_state", Unit: State, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "performance state (P-state): 0 is the fastest, 15 the slowest", whole: func(s *Sensors) *Int { return &s.PerformanceState }},
	PCIeReceived: {Name: "pcie_rx_bytes_per_second", Prometheus: "pcie_receive_bytes_per_second", Unit: BytesPerSecond, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "received over PCIe, measured for 20 ms every 2 s", whole: func(s *Sensors) *Int { return &s.PCIeReceived }},
	PCIeSent: {Name: "pcie_tx_bytes_per_second", Prometheus: "pcie_transmit_bytes_per_second", Unit: BytesPerSecond, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "sent over PCIe, measured for 20 ms every 2 s", whole: func(s *Sensors) *Int { return &s.PCIeSent }},
	EncoderUtilization: {Name: "encoder_utilization_percent", Prometheus: "encoder_utilization_ratio", Unit: Percent, Of: GPU | Process, Source: quantity.Driver, History: Recorded, Live: Process,
		Help: "use of the video encoder", whole: func(s *Sensors) *Int { return &s.EncoderUtilization }},
	DecoderUtilization: {Name: "decoder_utilization_percent", Prometheus: "decoder_utilization_ratio", Unit: Percent, Of: GPU | Process, Source: quantity.Driver, History: Recorded, Live: Process,
		Help: "use of the video decoder", whole: func(s *Sensors) *Int { return &s.DecoderUtilization }},
	SMClockMax: {Name: "sm_clock_max_mhz", Unit: Megahertz, Of: GPU, Source: quantity.Driver, History: Constant,
		Help: "the highest clock of the multiprocessors", whole: func(s *Sensors) *Int { return &s.SMClockMax }},
	MemoryClockMax: {Name: "memory_clock_max_mhz", Unit: Megahertz, Of: GPU, Source: quantity.Driver, History: Constant,
		Help: "the highest clock of the memory", whole: func(s *Sensors) *Int { return &s.MemoryClockMax }},
	ClockReasons: {Name: "clock_event_reasons", Unit: State, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "why the clocks are not higher: the bits of nvmlClocksEventReasons", whole: func(s *Sensors) *Int { return &s.ClockReasons }},
	PCIeGeneration: {Name: "pcie_generation", Prometheus: "pcie_generation", Unit: State, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "generation of the PCIe link now; it falls while the GPU is idle", whole: func(s *Sensors) *Int { return &s.PCIeGeneration }},
	PCIeGenerationMax: {Name: "pcie_generation_max", Prometheus: "pcie_generation_max", Unit: State, Of: GPU, Source: quantity.Driver, History: Constant,
		Help: "highest PCIe generation that GPU and slot have in common", whole: func(s *Sensors) *Int { return &s.PCIeGenerationMax }},
	PCIeWidth: {Name: "pcie_width", Prometheus: "pcie_width_lanes", Unit: Number, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "lanes of the PCIe link now", whole: func(s *Sensors) *Int { return &s.PCIeWidth }},
	PCIeWidthMax: {Name: "pcie_width_max", Prometheus: "pcie_width_max_lanes", Unit: Number, Of: GPU, Source: quantity.Driver, History: Constant,
		Help: "most PCIe lanes that GPU and slot have in common", whole: func(s *Sensors) *Int { return &s.PCIeWidthMax }},
	BAR1Used: {Name: "bar1_used_bytes", Prometheus: "bar1_used_bytes", Unit: Bytes, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "used of BAR1, the window through which the host reaches the memory", whole: func(s *Sensors) *Int { return &s.BAR1Used }},
	BAR1Total: {Name: "bar1_total_bytes", Prometheus: "bar1_total_bytes", Unit: Bytes, Of: GPU, Source: quantity.Driver, History: Constant,
		Help: "size of BAR1", whole: func(s *Sensors) *Int { return &s.BAR1Total }},
	RemappedCorrectable: {Name: "remapped_rows_correctable", Prometheus: "remapped_rows_correctable", Unit: Number, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "memory rows replaced after correctable errors; `null` under MIG", whole: func(s *Sensors) *Int { return &s.RemappedCorrectable }},
	RemappedUncorrectable: {Name: "remapped_rows_uncorrectable", Prometheus: "remapped_rows_uncorrectable", Unit: Number, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "memory rows replaced after uncorrectable errors", whole: func(s *Sensors) *Int { return &s.RemappedUncorrectable }},
	RemappingPending: {Name: "row_remapping_pending", Prometheus: "row_remapping_pending", Unit: State, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "1 where the GPU's next reset replaces a memory row, else 0", whole: func(s *Sensors) *Int { return &s.RemappingPending }},
	RemappingFailed: {Name: "row_remapping_failed", Prometheus: "row_remapping_failed", Unit: State, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "1 where a memory row could not be replaced (exchange the GPU), else 0", whole: func(s *Sensors) *Int { return &s.RemappingFailed }},
	Persistence: {Name: "persistence_mode", Prometheus: "persistence_mode", Unit: State, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "1 where the driver keeps the GPU initialised while nothing uses it, else 0", whole: func(s *Sensors) *Int { return &s.Persistence }},
	ComputeMode: {Name: "compute_mode", Unit: State, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "0 default, 2 prohibited, 3 one process at a time", whole: func(s *Sensors) *Int { return &s.ComputeMode }},
	NVLinkCount: {Name: "nvlink_links", Prometheus: "nvlink_links", Unit: Number, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "NVLinks of the GPU", whole: func(s *Sensors) *Int { return &s.NVLinkCount }},
	NVLinksUp: {Name: "nvlink_active_links", Prometheus: "nvlink_active_links", Unit: Number, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "NVLinks that are up", whole: func(s *Sensors) *Int { return &s.NVLinksUp }},
	NVLinkReceived: {Name: "nvlink_rx_bytes_per_second", Prometheus: "nvlink_receive_bytes_per_second", Unit: BytesPerSecond, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "received over all NVLinks", whole: func(s *Sensors) *Int { return &s.NVLinkReceived }},
	NVLinkSent: {Name: "nvlink_tx_bytes_per_second", Prometheus: "nvlink_transmit_bytes_per_second", Unit: BytesPerSecond, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "sent over all NVLinks", whole: func(s *Sensors) *Int { return &s.NVLinkSent }},
	NVLinkErrors: {Name: "nvlink_errors", Prometheus: "nvlink_errors_total", Unit: Number, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "replays, recoveries and CRC errors of all NVLinks since the driver was loaded", whole: func(s *Sensors) *Int { return &s.NVLinkErrors }},
	Energy: {Name: "energy_joules", Prometheus: "energy_joules_total", Unit: Joules, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "energy that the board has drawn since the driver was loaded", fraction: func(s *Sensors) *Float { return &s.Energy }},
}

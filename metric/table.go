package metric

import "vramscope/internal/quantity"

// Shorthand for the optional values of a metric.
type (
	Int   = quantity.Optional[int]
	Float = quantity.Optional[float64]
)

// ID names a metric. A saved history numbers its series by it, so new ones go
// to the end.
type ID uint8

// The metrics. The first ones are memory, and of a process also its load; the
// last ones are the sensors of a GPU.
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
	Count // how many there are
)

// Sensors is what the driver reports of a GPU beside its memory.
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
}

// Table describes every metric.
var Table = [Count]Metric{
	Used:          {Name: "used_bytes", Prometheus: "memory_used_bytes", Unit: Bytes, Of: GPU | Process, Source: quantity.Driver, History: Recorded, Help: "memory in use"},
	Allocated:     {Name: "allocated_bytes", Prometheus: "memory_allocated_bytes", Unit: Bytes, Of: Process, Source: quantity.Probe, History: Recorded, Help: "memory in live blocks of the process's allocators"},
	Cached:        {Name: "cached_bytes", Prometheus: "memory_cached_bytes", Unit: Bytes, Of: Process, Source: quantity.Probe, History: Recorded, Help: "free memory that the process's allocators keep"},
	Fragmented:    {Name: "fragmented_bytes", Prometheus: "memory_fragmented_bytes", Unit: Bytes, Of: Process, Source: quantity.Probe, History: Recorded, Help: "free memory between live blocks, which no flush frees"},
	Returnable:    {Name: "returnable_bytes", Prometheus: "memory_returnable_bytes", Unit: Bytes, Of: Process, Source: quantity.Probe, History: Recorded, Help: "memory that a flush frees: cached, or pending"},
	Host:          {Name: "host_bytes", Unit: Bytes, Of: Process, Source: quantity.System, History: Recorded, Digits: 9, Help: "resident host memory"},
	CPU:           {Name: "cpu_percent", Unit: Percent, Of: Process, Source: quantity.System, History: Recorded, Digits: 6, Help: "of one core"},
	SMUtilization: {Name: "sm_utilization_percent", Unit: Percent, Of: Process, Source: quantity.Driver, History: Recorded, Digits: 6, Help: "of the GPU's multiprocessors"},
	Other:         {Name: "other_bytes", Unit: Bytes, Of: Process, Source: quantity.Computed, Help: "used memory that no allocator reports: CUDA context, kernels"},
	Total:         {Name: "total_bytes", Prometheus: "memory_total_bytes", Unit: Bytes, Of: GPU, Source: quantity.Driver, Help: "memory of the GPU"},
	Free:          {Name: "free_bytes", Prometheus: "memory_free_bytes", Unit: Bytes, Of: GPU, Source: quantity.Driver, Help: "memory that processes can allocate"},
	Reserved:      {Name: "reserved_bytes", Prometheus: "memory_reserved_bytes", Unit: Bytes, Of: GPU, Source: quantity.Driver, Help: "memory that the driver keeps for itself"},
	Steps:         {Name: "steps", Unit: Number, Of: Process, Source: quantity.Probe, History: Recorded, Help: "training steps since the program began; `null` where nothing counts them"},
	Unattributed:  {Name: "unattributed_bytes", Prometheus: "memory_unattributed_bytes", Unit: Bytes, Of: GPU, Source: quantity.Computed, Help: "memory used by no process that the driver lists"},

	Utilization: {Name: "utilization_percent", Prometheus: "utilization_ratio", Unit: Percent, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "of the time in which a kernel ran; `null` under MIG", whole: func(s *Sensors) *Int { return &s.Utilization }},
	MemoryUtilization: {Name: "memory_utilization_percent", Prometheus: "memory_utilization_ratio", Unit: Percent, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "of the time in which memory was read or written", whole: func(s *Sensors) *Int { return &s.MemoryUtilization }},
	Temperature: {Name: "temperature_celsius", Prometheus: "temperature_celsius", Unit: Celsius, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "of the GPU", whole: func(s *Sensors) *Int { return &s.Temperature }},
	TemperatureSlowdown: {Name: "temperature_slowdown_celsius", Prometheus: "temperature_slowdown_celsius", Unit: Celsius, Of: GPU, Source: quantity.Driver, History: Constant,
		Help: "where the GPU slows itself down", whole: func(s *Sensors) *Int { return &s.TemperatureSlowdown }},
	Power: {Name: "power_watts", Prometheus: "power_watts", Unit: Watts, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "drawn now", fraction: func(s *Sensors) *Float { return &s.Power }},
	PowerLimit: {Name: "power_limit_watts", Prometheus: "power_limit_watts", Unit: Watts, Of: GPU, Source: quantity.Driver, History: Constant,
		Help: "the limit in force", fraction: func(s *Sensors) *Float { return &s.PowerLimit }},
	SMClock: {Name: "sm_clock_mhz", Prometheus: "sm_clock_hertz", Unit: Megahertz, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "of the multiprocessors", whole: func(s *Sensors) *Int { return &s.SMClock }},
	MemoryClock: {Name: "memory_clock_mhz", Prometheus: "memory_clock_hertz", Unit: Megahertz, Of: GPU, Source: quantity.Driver,
		Help: "of the memory", whole: func(s *Sensors) *Int { return &s.MemoryClock }},
	Fan: {Name: "fan_percent", Prometheus: "fan_speed_ratio", Unit: Percent, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "fan speed, of its maximum; `null` where the board has no fan", whole: func(s *Sensors) *Int { return &s.Fan }},
	PerformanceState: {Name: "performance_state", Prometheus: "performance_state", Unit: State, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "P-state: 0 is the fastest, 15 the slowest", whole: func(s *Sensors) *Int { return &s.PerformanceState }},
	PCIeReceived: {Name: "pcie_rx_bytes_per_second", Prometheus: "pcie_receive_bytes_per_second", Unit: BytesPerSecond, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "received over PCIe, measured for 20 ms every 2 s", whole: func(s *Sensors) *Int { return &s.PCIeReceived }},
	PCIeSent: {Name: "pcie_tx_bytes_per_second", Prometheus: "pcie_transmit_bytes_per_second", Unit: BytesPerSecond, Of: GPU, Source: quantity.Driver, History: Recorded,
		Help: "sent over PCIe, measured likewise", whole: func(s *Sensors) *Int { return &s.PCIeSent }},
}

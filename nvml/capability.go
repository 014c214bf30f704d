package nvml

import "slices"

// Capability is a call that a driver library has or lacks, for doctor.
type Capability struct {
	Name      string // "memory, without what the driver reserves"
	Symbol    string // "nvmlDeviceGetMemoryInfo_v2"
	Available bool
}

// symbol is an entry point of the library. A call through go-nvml's lazy
// binding to one that is missing ends the process, so each is looked up once,
// and checked before every call.
type symbol int

const (
	symInit symbol = iota
	symInitV1
	symShutdown
	symInitWithFlags
	symDriverVersion
	symNVMLVersion
	symCUDAVersion
	symCUDAVersionV1
	symCount
	symCountV1
	symHandle
	symHandleV1
	symUUID
	symName
	symPCIv3
	symPCIv2
	symPCIv1
	symMemoryV2
	symMemory
	symBAR1
	symUtilization
	symTemperature
	symTemperatureV
	symTemperatureThreshold
	symPower
	symPowerLimit
	symClock
	symFan
	symPerformanceState
	symPCIeThroughput
	symEventReasons
	symThrottleReasons
	symECCMode
	symECCErrors
	symComputeV3
	symComputeV2
	symComputeV1
	symGraphicsV3
	symGraphicsV2
	symGraphicsV1
	symMPSV3
	symMPSV2
	symMPSV1
	symProcessUtilization
	symEventSetCreate
	symEventSetFree
	symEventSetWait
	symEventSetWaitV1
	symSupportedEvents
	symRegisterEvents
	symMIGMode
	symMIGCount
	symMIGHandle
	symGPUInstance
	symComputeInstance
	symAttributes
	symAttributesV1
	symbolCount
)

// symbols has the C name of each entry point and, for people, its purpose.
var symbols = [symbolCount]struct{ name, words string }{
	symInit:                 {"nvmlInit_v2", "start"},
	symInitV1:               {"nvmlInit", "start, older call"},
	symShutdown:             {"nvmlShutdown", "shutdown"},
	symInitWithFlags:        {"nvmlInitWithFlags", "start without any GPU"},
	symDriverVersion:        {"nvmlSystemGetDriverVersion", "driver version"},
	symNVMLVersion:          {"nvmlSystemGetNVMLVersion", "library version"},
	symCUDAVersion:          {"nvmlSystemGetCudaDriverVersion_v2", "CUDA version"},
	symCUDAVersionV1:        {"nvmlSystemGetCudaDriverVersion", "CUDA version, older call"},
	symCount:                {"nvmlDeviceGetCount_v2", "number of GPUs"},
	symCountV1:              {"nvmlDeviceGetCount", "number of GPUs, older call"},
	symHandle:               {"nvmlDeviceGetHandleByIndex_v2", "GPUs by index"},
	symHandleV1:             {"nvmlDeviceGetHandleByIndex", "GPUs by index, older call"},
	symUUID:                 {"nvmlDeviceGetUUID", "UUID"},
	symName:                 {"nvmlDeviceGetName", "name"},
	symPCIv3:                {"nvmlDeviceGetPciInfo_v3", "PCI bus"},
	symPCIv2:                {"nvmlDeviceGetPciInfo_v2", "PCI bus, older call"},
	symPCIv1:                {"nvmlDeviceGetPciInfo", "PCI bus, oldest call"},
	symMemoryV2:             {"nvmlDeviceGetMemoryInfo_v2", "memory, without what the driver reserves"},
	symMemory:               {"nvmlDeviceGetMemoryInfo", "memory, with what the driver reserves counted as used"},
	symBAR1:                 {"nvmlDeviceGetBAR1MemoryInfo", "whether a GPU has memory of its own"},
	symUtilization:          {"nvmlDeviceGetUtilizationRates", "how busy a GPU is"},
	symTemperature:          {"nvmlDeviceGetTemperature", "temperature"},
	symTemperatureV:         {"nvmlDeviceGetTemperatureV", "temperature, newer call"},
	symTemperatureThreshold: {"nvmlDeviceGetTemperatureThreshold", "slow-down temperature"},
	symPower:                {"nvmlDeviceGetPowerUsage", "power"},
	symPowerLimit:           {"nvmlDeviceGetEnforcedPowerLimit", "power limit"},
	symClock:                {"nvmlDeviceGetClockInfo", "clocks"},
	symFan:                  {"nvmlDeviceGetFanSpeed", "fan speed"},
	symPerformanceState:     {"nvmlDeviceGetPerformanceState", "performance state"},
	symPCIeThroughput:       {"nvmlDeviceGetPcieThroughput", "PCIe throughput"},
	symEventReasons:         {"nvmlDeviceGetCurrentClocksEventReasons", "why clocks are held down"},
	symThrottleReasons:      {"nvmlDeviceGetCurrentClocksThrottleReasons", "why clocks are held down, older call"},
	symECCMode:              {"nvmlDeviceGetEccMode", "ECC mode"},
	symECCErrors:            {"nvmlDeviceGetTotalEccErrors", "ECC errors"},
	symComputeV3:            {"nvmlDeviceGetComputeRunningProcesses_v3", "compute processes"},
	symComputeV2:            {"nvmlDeviceGetComputeRunningProcesses_v2", "compute processes, older call"},
	symComputeV1:            {"nvmlDeviceGetComputeRunningProcesses", "compute processes, oldest call"},
	symGraphicsV3:           {"nvmlDeviceGetGraphicsRunningProcesses_v3", "graphics processes"},
	symGraphicsV2:           {"nvmlDeviceGetGraphicsRunningProcesses_v2", "graphics processes, older call"},
	symGraphicsV1:           {"nvmlDeviceGetGraphicsRunningProcesses", "graphics processes, oldest call"},
	symMPSV3:                {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "MPS clients"},
	symMPSV2:                {"nvmlDeviceGetMPSComputeRunningProcesses_v2", "MPS clients, older call"},
	symMPSV1:                {"nvmlDeviceGetMPSComputeRunningProcesses", "MPS clients, oldest call"},
	symProcessUtilization:   {"nvmlDeviceGetProcessUtilization", "how busy a process keeps the SMs"},
	symEventSetCreate:       {"nvmlEventSetCreate", "critical errors (Xid): event set"},
	symEventSetFree:         {"nvmlEventSetFree", "critical errors (Xid): end"},
	symEventSetWait:         {"nvmlEventSetWait_v2", "critical errors (Xid): read"},
	symEventSetWaitV1:       {"nvmlEventSetWait", "critical errors (Xid): read, older call"},
	symSupportedEvents:      {"nvmlDeviceGetSupportedEventTypes", "critical errors (Xid): which there are"},
	symRegisterEvents:       {"nvmlDeviceRegisterEvents", "critical errors (Xid): subscribe"},
	symMIGMode:              {"nvmlDeviceGetMigMode", "MIG mode"},
	symMIGCount:             {"nvmlDeviceGetMaxMigDeviceCount", "MIG: number of instances"},
	symMIGHandle:            {"nvmlDeviceGetMigDeviceHandleByIndex", "MIG: instances"},
	symGPUInstance:          {"nvmlDeviceGetGpuInstanceId", "MIG: GPU instance number"},
	symComputeInstance:      {"nvmlDeviceGetComputeInstanceId", "MIG: compute instance number"},
	symAttributes:           {"nvmlDeviceGetAttributes_v2", "MIG: slices"},
	symAttributesV1:         {"nvmlDeviceGetAttributes", "MIG: slices, older call"},
}

// symbolSet is which entry points a loaded library has.
type symbolSet [symbolCount]bool

// any reports whether the library has one of several entry points; go-nvml
// itself takes the newest.
func (s *symbolSet) any(choices ...symbol) bool {
	return slices.ContainsFunc(choices, func(choice symbol) bool { return s[choice] })
}

// capabilities lists the whole set.
func (s *symbolSet) capabilities() []Capability {
	list := make([]Capability, 0, symbolCount)
	for i, entry := range symbols {
		list = append(list, Capability{Name: entry.words, Symbol: entry.name, Available: s[i]})
	}
	return list
}

// essential are the calls without which nothing can be read: one of each group.
var essential = [][]symbol{{symInit, symInitV1}, {symShutdown}, {symCount, symCountV1}, {symHandle, symHandleV1}, {symUUID}, {symName}}

// missing names the first essential call that the set lacks, "" where it has
// all of them.
func (s *symbolSet) missing() string {
	for _, choices := range essential {
		if !s.any(choices...) {
			return symbols[choices[0]].name
		}
	}
	return ""
}

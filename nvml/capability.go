package nvml

import "slices"

// Capability says whether a driver library has a call. The doctor command lists the missing calls.
type Capability struct {
	Name      string // "memory, without what the driver reserves"
	Symbol    string // "nvmlDeviceGetMemoryInfo_v2"
	Available bool
}

// symbol is an entry point of the library, as an index of symbols. go-nvml binds entry points
// lazily, and a call to a missing entry point ends the process. So Library.load looks up each
// entry point, and the package calls none that is missing.
type symbol int

// symbols lists the C name of each entry point and its purpose in words.
var symbols []struct{ name, words string }

func define(name, words string) symbol {
	symbols = append(symbols, struct{ name, words string }{name, words})
	return symbol(len(symbols) - 1)
}

var (
	symInit                 = define("nvmlInit_v2", "start")
	symInitV1               = define("nvmlInit", "start, older call")
	symShutdown             = define("nvmlShutdown", "shutdown")
	symInitWithFlags        = define("nvmlInitWithFlags", "start without any GPU")
	symDriverVersion        = define("nvmlSystemGetDriverVersion", "driver version")
	symCUDAVersion          = define("nvmlSystemGetCudaDriverVersion_v2", "CUDA version")
	symCUDAVersionV1        = define("nvmlSystemGetCudaDriverVersion", "CUDA version, older call")
	symCount                = define("nvmlDeviceGetCount_v2", "number of GPUs")
	symMinor                = define("nvmlDeviceGetMinorNumber", "number of the device file")
	symCountV1              = define("nvmlDeviceGetCount", "number of GPUs, older call")
	symHandle               = define("nvmlDeviceGetHandleByIndex_v2", "GPUs by index")
	symHandleV1             = define("nvmlDeviceGetHandleByIndex", "GPUs by index, older call")
	symUUID                 = define("nvmlDeviceGetUUID", "UUID")
	symName                 = define("nvmlDeviceGetName", "name")
	symPCIv3                = define("nvmlDeviceGetPciInfo_v3", "PCI bus")
	symPCIv2                = define("nvmlDeviceGetPciInfo_v2", "PCI bus, older call")
	symPCIv1                = define("nvmlDeviceGetPciInfo", "PCI bus, oldest call")
	symMemoryV2             = define("nvmlDeviceGetMemoryInfo_v2", "memory, without what the driver reserves")
	symMemory               = define("nvmlDeviceGetMemoryInfo", "memory, with what the driver reserves counted as used")
	symBAR1                 = define("nvmlDeviceGetBAR1MemoryInfo", "BAR1, and whether a GPU has memory of its own")
	symUtilization          = define("nvmlDeviceGetUtilizationRates", "how busy a GPU is")
	symTemperature          = define("nvmlDeviceGetTemperature", "temperature")
	symTemperatureV         = define("nvmlDeviceGetTemperatureV", "temperature, newer call")
	symTemperatureThreshold = define("nvmlDeviceGetTemperatureThreshold", "slow-down temperature")
	symPower                = define("nvmlDeviceGetPowerUsage", "power")
	symPowerLimit           = define("nvmlDeviceGetEnforcedPowerLimit", "power limit")
	symEnergy               = define("nvmlDeviceGetTotalEnergyConsumption", "energy since the driver was loaded")
	symClock                = define("nvmlDeviceGetClockInfo", "clocks")
	symFan                  = define("nvmlDeviceGetFanSpeed", "fan speed")
	symPerformanceState     = define("nvmlDeviceGetPerformanceState", "performance state")
	symPCIeThroughput       = define("nvmlDeviceGetPcieThroughput", "PCIe throughput")
	symEventReasons         = define("nvmlDeviceGetCurrentClocksEventReasons", "why clocks are held down")
	symThrottleReasons      = define("nvmlDeviceGetCurrentClocksThrottleReasons", "why clocks are held down, older call")
	symECCMode              = define("nvmlDeviceGetEccMode", "ECC mode")
	symECCErrors            = define("nvmlDeviceGetTotalEccErrors", "ECC errors")
	symComputeV3            = define("nvmlDeviceGetComputeRunningProcesses_v3", "compute processes")
	symComputeV2            = define("nvmlDeviceGetComputeRunningProcesses_v2", "compute processes, older call")
	symComputeV1            = define("nvmlDeviceGetComputeRunningProcesses", "compute processes, oldest call")
	symGraphicsV3           = define("nvmlDeviceGetGraphicsRunningProcesses_v3", "graphics processes")
	symGraphicsV2           = define("nvmlDeviceGetGraphicsRunningProcesses_v2", "graphics processes, older call")
	symGraphicsV1           = define("nvmlDeviceGetGraphicsRunningProcesses", "graphics processes, oldest call")
	symMPSV3                = define("nvmlDeviceGetMPSComputeRunningProcesses_v3", "MPS clients")
	symMPSV2                = define("nvmlDeviceGetMPSComputeRunningProcesses_v2", "MPS clients, older call")
	symMPSV1                = define("nvmlDeviceGetMPSComputeRunningProcesses", "MPS clients, oldest call")
	symProcessUtilization   = define("nvmlDeviceGetProcessUtilization", "how busy a process keeps the SMs")
	symMaxClock             = define("nvmlDeviceGetMaxClockInfo", "highest clocks")
	symEncoder              = define("nvmlDeviceGetEncoderUtilization", "how busy the video encoder is")
	symDecoder              = define("nvmlDeviceGetDecoderUtilization", "how busy the video decoder is")
	symPCIeGeneration       = define("nvmlDeviceGetCurrPcieLinkGeneration", "PCIe generation")
	symPCIeGenerationMax    = define("nvmlDeviceGetMaxPcieLinkGeneration", "PCIe generation, highest")
	symPCIeWidth            = define("nvmlDeviceGetCurrPcieLinkWidth", "PCIe lanes")
	symPCIeWidthMax         = define("nvmlDeviceGetMaxPcieLinkWidth", "PCIe lanes, most")
	symRemappedRows         = define("nvmlDeviceGetRemappedRows", "row remapping")
	symPersistence          = define("nvmlDeviceGetPersistenceMode", "persistence mode")
	symComputeMode          = define("nvmlDeviceGetComputeMode", "compute mode")
	symNVLinkState          = define("nvmlDeviceGetNvLinkState", "NVLink: which links are up")
	symFieldValues          = define("nvmlDeviceGetFieldValues", "NVLink: throughput and errors")
	symEventSetCreate       = define("nvmlEventSetCreate", "critical errors (Xid): event set")
	symEventSetFree         = define("nvmlEventSetFree", "critical errors (Xid): end")
	symEventSetWait         = define("nvmlEventSetWait_v2", "critical errors (Xid): read")
	symEventSetWaitV1       = define("nvmlEventSetWait", "critical errors (Xid): read, older call")
	symSupportedEvents      = define("nvmlDeviceGetSupportedEventTypes", "critical errors (Xid): which there are")
	symRegisterEvents       = define("nvmlDeviceRegisterEvents", "critical errors (Xid): subscribe")
	symMIGMode              = define("nvmlDeviceGetMigMode", "MIG mode")
	symMIGCount             = define("nvmlDeviceGetMaxMigDeviceCount", "MIG: number of instances")
	symMIGHandle            = define("nvmlDeviceGetMigDeviceHandleByIndex", "MIG: instances")
	symGPUInstance          = define("nvmlDeviceGetGpuInstanceId", "MIG: GPU instance number")
	symComputeInstance      = define("nvmlDeviceGetComputeInstanceId", "MIG: compute instance number")
	symAttributes           = define("nvmlDeviceGetAttributes_v2", "MIG: slices")
	symAttributesV1         = define("nvmlDeviceGetAttributes", "MIG: slices, older call")
)

// symbolSet says which entry points a loaded library has.
type symbolSet []bool

// any reports whether the library has at least one version of a call; go-nvml calls the newest.
func (s symbolSet) any(choices ...symbol) bool {
	return slices.ContainsFunc(choices, func(choice symbol) bool { return s[choice] })
}

func (s symbolSet) capabilities() []Capability {
	list := make([]Capability, 0, len(symbols))
	for i, entry := range symbols {
		list = append(list, Capability{Name: entry.words, Symbol: entry.name, Available: s[i]})
	}
	return list
}

// essential lists the calls without which nothing can be read, each as a group of versions. A library
// must have one version of each.
var essential = [][]symbol{{symInit, symInitV1}, {symShutdown}, {symCount, symCountV1}, {symHandle, symHandleV1}, {symUUID}, {symName}}

// missing names the first essential call that the set lacks, "" if it lacks none.
func (s symbolSet) missing() string {
	for _, choices := range essential {
		if !s.any(choices...) {
			return symbols[choices[0]].name
		}
	}
	return ""
}

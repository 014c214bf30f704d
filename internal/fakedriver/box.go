package fakedriver

import (
	"crypto/sha256"
	"fmt"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// firstPID is above Linux's highest PID (PID_MAX_LIMIT, 4194304), so no process of the machine has
// the PID of a fake one.
const firstPID = 4_200_001

// Box returns a box of H100s with the given number of busy processes on each. The same arguments
// give the same figures.
func Box(gpus, processes int) State {
	state := State{Driver: defaultDriver()}
	for i := range gpus {
		gpu := H100(i)
		// Together the processes hold 70 to 98 % of the memory. The first holds twice as much as each of
		// the others.
		hold := gpu.Free / 100 * uint64(70+i*4%29)
		for j := range processes {
			weight := uint64(1)
			if j == 0 {
				weight = 2
			}
			used := hold*weight/uint64(processes+1)/mib*mib + uint64(i*processes+j)*4096
			process := NewProcess(uint64(firstPID+i*processes+j), used)
			process.SM = uint64(90 / (j + 1))
			process.MemoryPercent = uint64(40 / (j + 1))
			process.Command = commands[(i+j)%len(commands)]
			gpu.Start(process)
		}
		state.GPUs = append(state.GPUs, gpu)
	}
	return state
}

var commands = [][]string{
	{"python3", "train.py", "--cfg", "llama-7b.yaml", "--batch", "64"},
	{"vllm", "serve", "qwen2.5-32b", "--port", "8000"},
	{"python3", "finetune.py", "--cfg", "sft.yaml"},
	{"python3", "dlrm.py", "--batch", "65536"},
	{"ipykernel_launcher", "-f", "kernel-5f2b.json"},
	{"tritonserver", "--model-repository=/models"},
	{"python3", "eval.py", "--suite", "mmlu", "--checkpoint", "last"},
}

func defaultDriver() Driver {
	return Driver{Version: "550.163.01", NVMLVersion: "12.550.163.01", CUDAVersion: 12040, Generation: 1}
}

// H100 returns an NVIDIA H100 80GB HBM3 without processes. index is its number in the box.
func H100(index int) GPU {
	i := uint64(index)
	return GPU{
		UUID:       uuid("GPU-", index),
		Name:       "NVIDIA H100 80GB HBM3",
		Serial:     fmt.Sprintf("165392300%04d", index),
		VBIOS:      "96.00.89.00.01",
		PartNumber: "692-2G520-0200-000",
		Minor:      i,

		Brand:        14, // NVML_BRAND_NVIDIA
		Architecture: 9,  // NVML_DEVICE_ARCH_HOPPER
		CUDAMajor:    9, CUDAMinor: 0,
		Cores: 16896, BusWidth: 5120,

		PCIDomain: i / 16, PCIBus: 0x18 + i%16*0x0d, PCIDevice: 0,
		PCIDeviceID: 0x233010DE, PCISubsystemID: 0x16C110DE,
		PCIeGen: 5, PCIeGenMax: 5, PCIeWidth: 16, PCIeWidthMax: 16,
		PCIeTX: 120_000 + 1000*i, PCIeRX: 340_000 + 1000*i,

		Total: 80 * gib, Reserved: 426 * mib, Free: 80*gib - 426*mib,
		Context:   500 * mib,
		BAR1Total: 128 * gib, BAR1Used: 3 * mib,

		Utilization: 97 - i%7, MemoryUtilization: 41 + i%5,

		Temperature: 61 + i%9, MemoryTemperature: 70 + i%9,
		TemperatureShutdown: 92, TemperatureSlowdown: 89, TemperatureMemoryMax: 95, TemperatureGPUMax: 87,
		Fan: Absent, // the boards have none

		Power: 612_340 - 1500*i, PowerLimit: 700_000, PowerLimitDefault: 700_000,
		PowerLimitMin: 200_000, PowerLimitMax: 700_000, Energy: 912_345_678 + i,

		GraphicsClock: 1980, SMClock: 1980, MemoryClock: 2619, VideoClock: 1545,
		GraphicsClockMax: 1980, SMClockMax: 1980, MemoryClockMax: 2619, VideoClockMax: 1545,

		ThrottleSupported: 0x1ff, Persistence: 1,
		ECCMode: 1, ECCPending: 1,
		NVLinks: 18, NVLinkTX: 1_200_000 + 1000*i, NVLinkRX: 1_100_000 + 1000*i,
		MIGMode: 0, MIGPending: 0, MIGMax: 7,
		SamplePeriod: 166_667,
	}
}

// uuid returns a UUID that depends only on prefix and index.
func uuid(prefix string, index int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "vramscope %s %d", prefix, index))
	return fmt.Sprintf("%s%x-%x-%x-%x-%x", prefix, sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

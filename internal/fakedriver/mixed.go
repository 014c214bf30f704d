package fakedriver

import "math"

// MIG returns a box of two H100s, of which the first is cut into three instances:
// 3g.40gb and 2g.20gb with a process each, 1g.10gb empty, one slice spare.
func MIG() State {
	state := State{Driver: defaultDriver(), GPUs: []GPU{H100(0), H100(1)}}
	partition(&state.GPUs[0])
	state.GPUs[0].Start(inInstance(firstPID, amount(22.1), 1, "ipykernel_launcher", "-f", "kernel-5f2b.json"))
	state.GPUs[0].Start(inInstance(firstPID+1, amount(6.31), 2, "tritonserver", "--model-repository=/models"))
	state.GPUs[1].Start(busy(firstPID+2, amount(41.2), 97, "python3", "train.py", "--cfg", "llama-7b.yaml"))
	return state
}

// Mixed returns the box of ui/testdata/drawings: a leak on GPU 3, a lost GPU 6, MIG
// on GPU 5, an idle process with memory on GPU 2, a foreign pid on GPU 7, a graphics
// process on GPU 0. A test that needs GPU 6 before its loss sets Lost to false.
func Mixed() State {
	state := Box(8, 0)
	set := func(index int, utilization, temperature, watts uint64) *GPU {
		gpu := &state.GPUs[index]
		gpu.Utilization, gpu.Temperature, gpu.Power = utilization, temperature, watts*1000
		return gpu
	}
	gpu := set(0, 97, 68, 612)
	gpu.Start(busy(2963101, amount(60.8), 96, "python3", "train.py", "--cfg", "llama-7b.yaml"))
	display := busy(1907, 18*mib, Absent, "Xorg", ":0", "-nolisten", "tcp")
	display.Lists = "G"
	gpu.Start(display)

	set(1, 98, 67, 618).Start(busy(2963102, amount(60.7), 97, "python3", "train.py", "--cfg", "llama-7b.yaml"))
	set(2, 0, 41, 128).Start(busy(1288410, amount(71.7), Absent, "vllm", "serve", "qwen2.5-32b", "--port", "8000"))

	gpu = set(3, 98, 71, 645)
	gpu.Start(busy(2963112, amount(70.6), 98, "python3", "finetune.py", "--cfg", "sft.yaml"))
	gpu.Start(busy(3011876, amount(2.31), 4, "python3", "eval.py", "--suite", "mmlu", "--checkpoint", "last"))

	gpu = set(4, 71, 63, 402)
	gpu.Start(busy(2701455, amount(47.8), 71, "python3", "dlrm.py", "--batch", "65536"))
	gpu.Start(busy(2990210, amount(3.05), Absent, "ipykernel_launcher", "-f", "kernel-11c0.json"))

	gpu = set(5, 0, 55, 371)
	partition(gpu)
	gpu.Start(inInstance(3000417, amount(22.1), 1, "ipykernel_launcher", "-f", "kernel-5f2b.json"))
	gpu.Start(inInstance(3000533, amount(6.31), 2, "tritonserver", "--model-repository=/models"))

	gpu = set(6, 88, 62, 540)
	gpu.Start(busy(2874001, amount(41.2), 88, "python3", "pretrain.py", "--resume", "auto"))
	gpu.Lost = true

	gpu = set(7, 64, 60, 377)
	gpu.Start(busy(2955020, amount(59.7), 64, "python3", "t5x/train.py", "--gin_file=base.gin"))
	gpu.Start(busy(firstPID+184, amount(9.20), Absent)) // runs in another container, so it is not in /proc
	return state
}

// partition turns MIG on: one slice of seven and its memory stay spare.
func partition(gpu *GPU) {
	gpu.MIGMode, gpu.MIGPending = 1, 1
	add := func(id uint64, profile string, slices, multiprocessors uint64, total uint64, number int) {
		const reserved = 30 * mib
		gpu.Instances = append(gpu.Instances, Instance{
			Index: uint64(len(gpu.Instances)), GPUInstance: id, Compute: 0,
			UUID: uuid("MIG-", int(gpu.Minor)*10+number), Profile: profile,
			Total: total, Reserved: reserved, Free: total - reserved,
			Slices: slices, ComputeSlices: slices, Multiprocessors: multiprocessors, MemoryMiB: total / mib,
		})
	}
	add(1, "3g.40gb", 3, 60, 40320*mib, 0)
	add(2, "2g.20gb", 2, 32, 19968*mib, 1)
	add(3, "1g.10gb", 1, 16, 9856*mib, 2)
}

func busy(pid, used, sm uint64, command ...string) Process {
	process := NewProcess(pid, used)
	process.SM = sm
	process.Command = command
	return process
}

func inInstance(pid, used, id uint64, command ...string) Process {
	process := busy(pid, used, Absent, command...)
	process.GPUInstance, process.Compute = id, 0
	return process
}

// amount converts GiB to bytes, in the driver's steps of 64 KiB.
func amount(size float64) uint64 { return uint64(math.Round(size*gib/65536)) * 65536 }

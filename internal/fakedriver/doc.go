// Package fakedriver is an NVIDIA driver without a GPU, for tests and
// scripts/fake-gpu: the C sources of a libnvidia-ml.so.1 that answers from a text
// file and of a libcuda.so.1 on whose GPUs programs allocate, and the Go code that
// builds them and writes that file. The vramscope binary does not contain it.
//
//	State ── Write ──→ state file ←── stat, read ──┬─ libnvidia-ml.so.1 ←── vramscope, nvtop, nvidia-ml-py, …
//	(a test rewrites it                            │    ↑ who holds how much (nvml/*.c)
//	 while programs run)                           │  ledger
//	                                               │    ↑ takes and frees (cuda/*.c)
//	                                               └─ libcuda.so.1 ←── CUDA programs, libcudart.so (cudart/*.c)
//
// Start at State in state.go and Build in build.go. Build compiles both libraries
// into one directory, where any unmodified NVML or CUDA program can load them. A
// test that runs vramscope as a process does
//
//	library := fakedriver.Build(t, fakedriver.Current)
//	box := fakedriver.Box(8, 8)
//	path := filepath.Join(t.TempDir(), "state")
//	box.MustWrite(t, path)
//	cmd.Env = append(os.Environ(), fakedriver.Environment(library, path)...)
//
// and then, while it runs,
//
//	box.GPUs[3].Resize(pid, 40<<30)                       // memory moves
//	box.GPUs[6].Lost = true                               // a GPU falls off the bus …
//	box.GPUs[6].Raise(79)                                 // … and reports an Xid
//	box.GPUs[1].Fail("nvmlDeviceGetPowerUsage", fakedriver.NotSupported)
//	box.GPUs[2].Hang("nvmlDeviceGetMemoryInfo*", time.Hour) // until a state without it is written
//	box.MustWrite(t, path)
//
// A test that loads the library into itself sets VRAMSCOPE_FAKE_STATE before
// the first call and hands Build's path to go-nvml.
//
// # The state file
//
// Lines of "key value". Empty lines, lines that begin with # and leading white
// space are skipped. A line with an error is printed on standard error, and the
// box then has no driver. Numbers are unsigned, decimal or 0x…; "unavailable" is
// NVML_VALUE_NOT_AVAILABLE. In texts \xNN stands for a byte. The file is replaced
// by rename, and programs then read it again.
//
//	driver.version 550.163.01
//	driver.nvml_version 12.550.163.01
//	driver.cuda_version 12040
//	driver.init 0                       # what nvmlInit answers: 9 no driver, 18 version mismatch, 4 no permission
//	driver.generation 1                 # a new number is a reload of the driver: old sessions are UNINITIALIZED
//	driver.memory_v2 0                  # version words that nvmlDeviceGetMemoryInfo_v2 takes: 0 both, 1 size|2<<24, 2 bare 2
//	gpu GPU-8f1c…                       # a GPU; the lines up to the next gpu line are about it
//	name NVIDIA H100 80GB HBM3
//	memory_total 85899345920            # bytes; total = reserved + used + free, if the test wants sensible figures
//	temperature 61                      # °C; every key is in state.go, units are NVML's own
//	process C pid=4711 used=1073741824 sm=97
//	process C+G pid=4712 used=unavailable graphics_used=18874368 name=Xorg
//	instance gi=1 ci=0 uuid=MIG-… profile=3g.40gb total=42278584320 used=… free=…
//	xid seq=1 code=79                   # delivered to event sets that are older than the line
//	fault nvmlDeviceGetPowerUsage 3     # answers with that return code
//	hang nvmlDeviceGetMemoryInfo* 5000  # hangs for 5000 ms, or until the line is gone
//	size nvmlDeviceGetCompute* 0        # INSUFFICIENT_SIZE comes with this count
//	count nvmlDeviceGetCompute* 4000000 # SUCCESS comes with this count
//	wobble 3                            # three times, INSUFFICIENT_SIZE comes with a count that is one too low
//	lost 1                              # GPU_IS_LOST from every call about this GPU
//
// A missing number mostly makes its call answer NOT_SUPPORTED, so a state written by hand
// needs only what is tested. fault, hang, size and count above the first gpu line
// apply to every GPU and to calls that name no GPU; a name that ends in * stands
// for every call with that prefix.
//
// The letters of a process are the lists that contain it: C compute, G
// graphics, M the clients of the Multi-Process Service. A process without sm is idle:
// nvmlDeviceGetProcessUtilization has no sample of it.
//
// # CUDA programs
//
// A process that allocates through libcuda.so.1 is in NVML's compute list beside
// the processes of the state file, with the memory of its contexts and
// allocations. Every program sees the GPU's used and free memory change at once, to
// the byte. The process can take what the state file says is free. When it ends, for
// whatever reason, its memory is free again.
// The ledger of contexts and allocations is a file beside the state file,
// described in state/ledger.h.
//
//	memory_free 85452652544             # what programs can take; default: all of the GPU
//	context_bytes 524288000             # what a context costs; default: 500 MiB
//	fault cuMemAlloc_v2 2               # fault and hang are for CUDA's calls, too, by their symbols' names
//	lost 1                              # CUDA_ERROR_DEVICE_UNAVAILABLE
//
// A process with CUDA_MPS_PIPE_DIRECTORY in its environment is a client of MPS, too, and heeds
// CUDA_MPS_PINNED_DEVICE_MEM_LIMIT.
//
// With VRAMSCOPE_FAKE_COUNT=FILE in a program's environment libnvidia-ml.so.1 counts the
// program's calls in that file: 8 bytes, in the machine's byte order.
//
// With VRAMSCOPE_FAKE_FAIL="N CODE" in a program's environment the program's Nth call that
// goes through cuda/call.c does nothing and returns CODE.
//
// The library has devices (CUDA_VISIBLE_DEVICES in all its forms, MIG instances
// too), contexts, linear, pitched, managed and host memory, virtual memory
// management, streams, events, stream-ordered allocation with its pools,
// capture, graphs, sharing between processes, modules, and cuGetProcAddress in
// both versions; cuda/prototypes.h lists every call. A kernel does nothing when it
// is launched, in a graph or alone. Of the private functions behind
// cuGetExportTable there is only the one that returns a primary context. NVIDIA's
// runtime library needs more of them, and does not run. Copies check their
// addresses and move nothing. Frequent calls notice a rewritten state file
// after one tick of the kernel's clock, and the others at once.
//
// A process in another pid namespace is listed by its pid in the namespace of the
// process that asks, or, if it has none there, by its pid in its own namespace.
//
// # The runtime API
//
// Programs that link libcudart, such as PyTorch, get this package's own, which
// CompileRuntime compiles. It finds the driver's calls through cuGetProcAddress and
// makes its context current, as NVIDIA's does, so NVML's figures include its memory.
// Launching a kernel does nothing. cudart/prototypes.h lists every call. A program
// with a static cudart, such as CuPy, does not run. CompileStandIns makes stand-ins
// for the other libraries that a wheel needs (package standin).
package fakedriver

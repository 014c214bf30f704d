package process

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"vramscope/internal/quantity"
)

// Hints are what an environment says about a process's importance, distributed job and limits. If the
// environment may not be read, they are unknown or "". If it is incomplete, Distributed may be unknown.
type Hints struct {
	Importance  quantity.Optional[int]    // VRAMSCOPE_IMPORTANCE; unknown also if it is not set
	Distributed quantity.Optional[string] // why it is part of a distributed job: "WORLD_SIZE=8"; "" if it is not

	Rank       quantity.Optional[int]     // its number in a distributed job
	MPSMemory  string                     // CUDA_MPS_PINNED_DEVICE_MEM_LIMIT, which only a client of MPS heeds
	Visible    string                     // CUDA_VISIBLE_DEVICES
	MPSThreads quantity.Optional[float64] // CUDA_MPS_ACTIVE_THREAD_PERCENTAGE, which only a client of MPS heeds

	UserUnread bool // User is the number for now, because the directory service failed
	JobUnread  bool // the job is unknown, or is a Slurm job whose number is unknown
}

// sizes are the variables with the number of processes of a distributed job: of
// torchrun, Open MPI and MPICH or PMIx.
var sizes = []string{"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}

// ranks are the variables that hold a process's number, the most reliable last: where srun starts
// torchrun, SLURM_PROCID is torchrun's number and RANK the process's.
var ranks = []string{"SLURM_PROCID", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "RANK"}

// hintsIn reads an environment, which may be incomplete: a program that sets its title, as Ray's
// workers do, overwrites a part, and only environmentSize bytes are read.
func hintsIn(environment []byte) Hints {
	w := Hints{Distributed: quantity.From("", quantity.System)}
	cut, surest := len(environment) >= environmentSize, -1
	if cut { // the last entry may be cut off, too
		environment = environment[:bytes.LastIndexByte(environment, 0)+1]
	}
	for name, value := range Variables(bytes.TrimSuffix(environment, []byte{0})) {
		if (value == nil || cut) && w.Distributed.Or("") == "" {
			w.Distributed = quantity.Optional[string]{}
		}
		switch name {
		case "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT":
			w.MPSMemory = whole(value)
		case "CUDA_VISIBLE_DEVICES":
			w.Visible = whole(value)
		case "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE":
			if percent, err := strconv.ParseFloat(string(value), 64); err == nil && percent > 0 && percent <= 100 {
				w.MPSThreads = quantity.From(percent, quantity.System)
			}
		}
		number, err := strconv.Atoi(string(value))
		if err != nil {
			continue
		}
		if i := slices.Index(ranks, name); i > surest && number >= 0 {
			w.Rank, surest = quantity.From(number, quantity.System), i
		}
		if name == "VRAMSCOPE_IMPORTANCE" {
			w.Importance = quantity.From(number, quantity.System)
		}
		if number > 1 && slices.Contains(sizes, name) {
			w.Distributed = quantity.From(name+"="+strconv.Itoa(number), quantity.System)
		}
	}
	return w
}

// whole returns a value, or "" if it has more than 1 KiB: a cut value could mean something else.
func whole(value []byte) string {
	if len(value) > 1<<10 {
		return ""
	}
	return string(value)
}

// MPSLimit returns a GPU's entry in MPSMemory, "0=2G,GPU-8f1c2d3e=10240M". An entry names a device
// by its UUID, or by CUDA's number. A number is known to mean a GPU only if Visible names its UUID;
// otherwise numbers count only if all GPUs of the box have the same limit. If no limit is set, the
// result is unknown. Source: CUDA_MPS_PINNED_DEVICE_MEM_LIMIT in
// https://docs.nvidia.com/deploy/mps/latest/appendix-environment-variables.html
func (h *Hints) MPSLimit(uuid string, gpus int) (limit quantity.Optional[quantity.Bytes]) {
	unknown, numbered := limit, map[int]quantity.Bytes{}
	names := func(device string) bool {
		device = strings.TrimSpace(device)
		return device == uuid || len(device) >= len("GPU-8f1c2d3e") && strings.HasPrefix(uuid, device)
	}
	for entry := range strings.SplitSeq(h.MPSMemory, ",") {
		device, size, _ := strings.Cut(strings.TrimSpace(entry), "=")
		bytes, err := quantity.ParseBytes(size)
		if err != nil || bytes <= 0 {
			return unknown
		}
		number, err := strconv.ParseUint(device, 10, 16)
		twin, twice := numbered[int(number)]
		switch {
		case err == nil && twice && twin != bytes:
			return unknown
		case err == nil:
			numbered[int(number)] = bytes
		case names(device):
			limit = quantity.From(bytes, quantity.System)
		case strings.HasPrefix(uuid, device):
			return unknown // too short to name one GPU
		}
	}
	number := slices.IndexFunc(strings.Split(h.Visible, ","), names)
	if number < 0 {
		number = 0
		for other := range gpus {
			if numbered[other] != numbered[0] {
				return limit
			}
		}
	}
	if bytes, ok := numbered[number]; ok && !limit.Known() {
		limit = quantity.From(bytes, quantity.System)
	}
	return limit
}

// maxThreads limits how many threads of a process are read: PyTorch programs have 100 to 200.
const maxThreads = 512

// ncclThread returns "an NCCL thread" if the process has one, else "". A loaded library proves
// nothing: every PyTorch wheel links NCCL. Sources: ProcessGroupNCCL.cpp of PyTorch (pt_nccl_watchdg,
// pt_nccl_heartbt), and NCCL itself, which names its threads if NCCL_SET_THREAD_NAME=1.
func ncclThread(directory string) string {
	path := filepath.Join(directory, "task")
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	tasks := os.NewFile(uintptr(fd), path) // os.Open asks first whether it can be polled
	defer func() { _ = tasks.Close() }()   // only read
	names, _ := tasks.Readdirnames(maxThreads)
	var buf [64]byte
	for _, name := range names {
		n, err := readOnce(filepath.Join(path, name, "comm"), buf[:])
		comm := string(buf[:max(n, 0)])
		if err == nil && (strings.HasPrefix(comm, "pt_nccl_") || strings.HasPrefix(comm, "NCCL ")) {
			return "an NCCL thread"
		}
	}
	return ""
}

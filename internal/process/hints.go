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

// Hints are what a process's environment says about its importance and about a
// distributed job. Both are unknown if the environment may not be read; Distributed is also
// unknown if the environment is incomplete.
type Hints struct {
	Importance  quantity.Optional[int]    // VRAMSCOPE_IMPORTANCE; unknown also where it is not set
	Distributed quantity.Optional[string] // why it is part of a distributed job: "WORLD_SIZE=8"; "" if it is not

	UserUnread bool // its user's name is the number for now: the directory service failed
	JobUnread  bool // its job is not known, or of Slurm and without its number
}

// sizes are the variables with the number of processes of a distributed job: of
// torchrun, Open MPI and MPICH or PMIx.
var sizes = []string{"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}

// hintsIn reads an environment. It may be incomplete: a program that sets its title, as
// Ray's workers do, overwrites a part, and only environmentSize bytes are read.
func hintsIn(environment []byte) Hints {
	w := Hints{Distributed: quantity.From("", quantity.System)}
	cut := len(environment) >= environmentSize
	for name, value := range Variables(bytes.TrimSuffix(environment, []byte{0})) {
		if (value == nil || cut) && w.Distributed.Or("") == "" {
			w.Distributed = quantity.Optional[string]{}
		}
		number, err := strconv.Atoi(string(value))
		if err != nil {
			continue
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

// maxThreads limits how many threads of a process are read: a PyTorch program has one or
// two hundred.
const maxThreads = 512

// ncclThread names a thread of NCCL in the process, "" if it has none. A loaded library proves
// nothing: every PyTorch wheel links it. Sources: ProcessGroupNCCL.cpp of PyTorch (pt_nccl_watchdg,
// pt_nccl_heartbt), and NCCL's, where NCCL_SET_THREAD_NAME=1.
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

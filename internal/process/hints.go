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

// Hints are what a process's environment says of its importance and of a distributed
// job. Both are unknown where the environment may not be read, and Distributed where it
// is no longer whole.
type Hints struct {
	Importance  quantity.Optional[int]    // VRAMSCOPE_IMPORTANCE; unknown also where it is not set
	Distributed quantity.Optional[string] // why it is a part of a distributed job: "WORLD_SIZE=8"; "" where it is none
}

// sizes are the variables with the number of processes of a distributed job: of
// torchrun, Open MPI and MPICH or PMIx.
var sizes = []string{"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}

// hintsIn reads an environment. A program that sets its title, as Ray's workers do,
// writes over it, and what is longer than environmentSize is cut.
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

// mostThreads are looked at of a process: a PyTorch program has one or two hundred.
const mostThreads = 512

// ncclThread is a thread by which a process communicates through NCCL, "" where it has
// none. That the library is loaded says nothing: every PyTorch wheel links it.
// Sources: ProcessGroupNCCL.cpp of PyTorch (pt_nccl_watchdg, pt_nccl_heartbt), and
// NCCL's, where NCCL_SET_THREAD_NAME=1.
func ncclThread(directory string) string {
	path := filepath.Join(directory, "task")
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	tasks := os.NewFile(uintptr(fd), path) // os.Open asks first whether it can be polled
	defer func() { _ = tasks.Close() }()   // only read
	names, _ := tasks.Readdirnames(mostThreads)
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

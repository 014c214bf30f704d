package fakedriver_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vramscope/internal/fakedriver"
)

// startRuntime starts testdata/cudart_client.c, linked to the runtime of a major
// version, on the box of a state file.
func startRuntime(t *testing.T, state string, major int, environment ...string) *cudaProgram {
	t.Helper()
	library := fakedriver.Build(t, fakedriver.Current)
	program, directory := fakedriver.BuildRuntimeClient(t, major)
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), fakedriver.Environment(library, state, directory)...)
	cmd.Env = append(cmd.Env, environment...)
	return startProgram(t, cmd, state)
}

// forBothRuntimes runs a test with each runtime, on a driver that is new enough
// for it.
func forBothRuntimes(t *testing.T, gpus int, test func(t *testing.T, box fakedriver.State, view *client, program *cudaProgram)) {
	t.Parallel()
	for _, major := range []int{12, 13} {
		t.Run(fmt.Sprintf("CUDA %d", major), func(t *testing.T) {
			t.Parallel()
			box := fakedriver.Box(gpus, 0)
			box.Driver.CUDAVersion = 13020
			view := startView(t, box)
			test(t, box, view, startRuntime(t, view.state, major))
		})
	}
}

func TestRuntimeMemoryIsTheDrivers(t *testing.T) {
	forBothRuntimes(t, 1, func(t *testing.T, box fakedriver.State, view *client, program *cudaProgram) {
		gpu := box.GPUs[0]
		holds := holding(view, gpu, program, contextBytes)
		program.script("malloc 0 0", success, "null 0", "1") // the first call makes the context
		holds(0)
		program.script("malloc 0 3145728", success, "null 0", "0", "pitch 1 100 1000", "0 512")
		holds(4*mib + 2*mib)
		program.want("info", fmt.Sprintf("0 %d %d", gpu.Free-contextBytes-6*mib, gpu.Total-gpu.Reserved))
		program.script("stream 3", success, "async 2 1000 3", success)
		holds(6*mib + 32*mib)
		program.script("freeasync 2 3", success, "sync 3", success, "trim 0", success, "free 0", success, "free 1", success)
		holds(0)
		program.script("free 0", invalidValue, "last", "1 1 0 cudaErrorInvalidValue: invalid argument")
		program.script(
			fmt.Sprintf("malloc 0 %d", uint64(1)<<41), outOfMemory,
			"null 0", "1",
			"last", "2 2 0 cudaErrorMemoryAllocation: out of memory",
		)
	})
}

func TestRuntimeContexts(t *testing.T) {
	forBothRuntimes(t, 3, func(t *testing.T, box fakedriver.State, view *client, program *cudaProgram) {
		program.script("count", "0 3", "used", "0 0 0")
		wantHeld(view, box.GPUs[0], 0, map[int]uint64{}) // asking makes no context
		program.script("use 1", success, "used", "0 1 0", "use 3", invalidDevice, "last", "101 101 0 cudaErrorInvalidDevice: invalid device ordinal")
		wantHeld(view, box.GPUs[1], 1, map[int]uint64{program.pid(): contextBytes})
		program.script("peer 2 1", success, "peer 2 1", peerAlreadyEnabled, "peer 2 0", success, "used", "0 1 0")
		wantHeld(view, box.GPUs[2], 2, map[int]uint64{program.pid(): contextBytes})
		program.script("malloc 0 4194304", success, "reset", success)
		wantHeld(view, box.GPUs[1], 1, map[int]uint64{})
		program.script("malloc 0 4194304", success, "used", "0 1 0") // on the thread's device again
		wantHeld(view, box.GPUs[1], 1, map[int]uint64{program.pid(): contextBytes + 4*mib})
	})
}

func TestRuntimePointers(t *testing.T) {
	forBothRuntimes(t, 1, func(t *testing.T, _ fakedriver.State, _ *client, program *cudaProgram) {
		program.script(
			"malloc 0 4096", success,
			"attributes 0", "0 2 0 1 0", // memory of the GPU
			"managed 1 4096", success,
			"attributes 1", "0 3 0 1 1",
			"host 2 4096", success,
			"attributes 2", "0 1 0 1 1",
			"attributes -1", "0 0 -2 0 0", // not known to CUDA
			"register", success,
			"attributes -1", "0 1 0 1 1",
			"unregister", success,
			"unregister", notRegistered,
			"freehost 2", success,
			"set 0 4096", success,
			"set 0 4097", invalidValue,
			"copy 0 4096", success,
			"copy 0 4097", invalidValue,
			"copy2d 0 64", success,
			"copy2d 0 65", invalidValue, // its last row
		)
	})
}

func TestRuntimeWork(t *testing.T) {
	forBothRuntimes(t, 1, func(t *testing.T, box fakedriver.State, view *client, program *cudaProgram) {
		const invalidConfiguration = "9"
		program.script(
			"stream 3", success,
			"handle 1", "0 1", "handle 0", "1 0",
			"launch 0 256", success,
			"launch 3 256", success,
			"launch 3 0", invalidConfiguration,
			"callbacks 3", "0 0 2",
			"capture 3 0", success,
			"async 0 1000 3", success,
			"launch 3 32", success,
			"instantiate 3", success, // which destroys the graph
			"replay 3", success,
			"devicesync", success,
		)
		wantHeld(view, box.GPUs[0], 0, map[int]uint64{program.pid(): contextBytes + 32*mib})
		program.script("forget", success, "freeasync 0 3", success)
	})
}

func TestRuntimeProperties(t *testing.T) {
	forBothRuntimes(t, 1, func(t *testing.T, box fakedriver.State, _ *client, program *cudaProgram) {
		gpu := box.GPUs[0]
		uuid := strings.TrimPrefix(gpu.UUID, "GPU-")[:4]
		program.want("properties 0", fmt.Sprintf("0 %s 9.0 %d 132 232448 %s", gpu.Name, gpu.Total-gpu.Reserved, uuid))
		program.script("properties 1", invalidDevice+"  0.0 0 0 0 0000", "entry", "0 1")
	})
}

// A runtime needs a driver of its major version or later. With an older driver, calls that need the driver fail.
func TestRuntimeAndDriverVersions(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 0) // CUDA 12.4
	view := startView(t, box)
	const insufficient = "35 0"
	startRuntime(t, view.state, 12).script("versions", "12040 12090", "count", "0 1", "malloc 0 1000", success)
	startRuntime(t, view.state, 13).script("versions", "12040 13020", "count", insufficient, "malloc 0 1000", "35",
		"last", "35 35 0 cudaErrorInsufficientDriver: CUDA driver version is insufficient for CUDA runtime version")
	startRuntime(t, view.state, 12, "CUDA_VISIBLE_DEVICES=").script("count", noDevice+" 0")
	_, directory := fakedriver.BuildRuntimeClient(t, 12)
	startRuntime(t, view.state, 12, "LD_LIBRARY_PATH="+directory).script("versions", "0 12090", "count", insufficient)
}

// Programs are linked to symbols whose version has the name of the library.
func TestRuntimeSymbols(t *testing.T) {
	t.Parallel()
	for _, major := range []int{12, 13} {
		_, directory := fakedriver.BuildRuntimeClient(t, major)
		name := fmt.Sprintf("libcudart.so.%d", major)
		symbols := exported(t, filepath.Join(directory, name))
		for _, symbol := range symbols {
			if !strings.HasPrefix(symbol, "cuda") && !strings.HasPrefix(symbol, "__cuda") && symbol != name {
				t.Errorf("%s exports %s", name, symbol)
			}
		}
		program, _ := fakedriver.BuildRuntimeClient(t, major)
		if needed := importedFrom(t, program, name); !needed["cudaMalloc"] || !needed["__cudaPushCallConfiguration"] {
			t.Errorf("a program needs of %s: %v", name, needed)
		}
	}
}

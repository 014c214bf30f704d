package fakedriver_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
)

const contextBytes = 500 * mib // of the GPUs that H100 returns

// startView returns NVML's view of a box.
func startView(t *testing.T, box fakedriver.State) *client {
	t.Helper()
	view := startClient(t, box)
	view.want("init", success)
	return view
}

// startBoth returns NVML's view of a box, and a program that allocates there.
func startBoth(t *testing.T, box fakedriver.State) (*client, *cudaProgram) {
	t.Helper()
	view := startView(t, box)
	return view, startCUDA(t, view.state)
}

func TestAllocationsAreInTheDriversListAtOnce(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(2, 0)
	view, program := startBoth(t, box)
	holds := func(bytes uint64) {
		t.Helper()
		want := map[int]uint64{}
		if bytes > 0 {
			want[program.pid()] = bytes
		}
		wantHeld(view, box.GPUs[1], 1, want)
		wantHeld(view, box.GPUs[0], 0, nil)
	}
	holds(0)
	program.want("init", success)
	holds(0) // no context yet
	program.want("use 1", success)
	holds(contextBytes)
	total := box.GPUs[1].Total - box.GPUs[1].Reserved
	program.want("info", fmt.Sprintf("0 %d %d", box.GPUs[1].Free-contextBytes, total))

	program.want("alloc 0 1073741824", success)
	holds(contextBytes + gib)
	program.want("alloc 1 2097153", success) // one byte more than a page
	holds(contextBytes + gib + 4*mib)
	program.want("alloc 2 1000", success)
	holds(contextBytes + gib + 6*mib)
	program.want("alloc 3 1000", success) // shares a page
	holds(contextBytes + gib + 6*mib)
	program.want("free 2", success)
	holds(contextBytes + gib + 6*mib)
	program.want("free 3", success)
	holds(contextBytes + gib + 4*mib)
	program.want("free 0", success)
	holds(contextBytes + 4*mib)
	program.want("managed 4 1073741824", success) // on the host until a kernel touches it
	holds(contextBytes + 4*mib)
	program.want("pitch 5 1000 2000", "0 1024") // rows of 1024 bytes: 2,048,000
	holds(contextBytes + 6*mib)
}

func TestProcessesThatEndHoldNothing(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 0)
	view := startView(t, box)
	for name, end := range map[string]func(*cudaProgram){
		"killed": func(p *cudaProgram) { p.kill() },
		"ended": func(p *cudaProgram) {
			_ = p.input.(interface{ Close() error }).Close() // the program ends at the end of its input
			if err := p.cmd.Wait(); err != nil {
				t.Error(err)
			}
			p.done = true
		},
		"became another program": func(p *cudaProgram) { p.want("exec", success) },
		"reset":                  func(p *cudaProgram) { p.want("reset 0", success) },
	} {
		program := startCUDA(t, view.state).device(0)
		program.script("alloc 0 1073741824", success, "async 1 1048576", success)
		wantHeld(view, box.GPUs[0], 0, map[int]uint64{program.pid(): contextBytes + gib + 32*mib})
		end(program)
		eventually(t, name, func() bool { return len(onDriver(view, 0)) == 0 })
		wantHeld(view, box.GPUs[0], 0, nil)
	}
}

func TestForkedChildrenHaveNoContext(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 0)
	view, program := startBoth(t, box)
	// Before cuInit a fork is harmless: the child can use the driver.
	program.want("fork 0 1000", "0 0 0 0 0")
	wantHeld(view, box.GPUs[0], 0, nil)

	program.device(0).want("alloc 0 2097152", success)
	program.want("fork 0 1000", "3 3 3 3 3")
	wantHeld(view, box.GPUs[0], 0, map[int]uint64{program.pid(): contextBytes + 2*mib})
	program.want("free 0", success) // the parent's memory is still there
	wantHeld(view, box.GPUs[0], 0, map[int]uint64{program.pid(): contextBytes})
}

func TestAFullGPU(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 2)
	view, first := startBoth(t, box)
	second := startCUDA(t, view.state).device(0)
	first.device(0)
	free := box.GPUs[0].Free - 2*contextBytes
	first.want("info", fmt.Sprintf("0 %d %d", free, box.GPUs[0].Total-box.GPUs[0].Reserved))
	first.want(fmt.Sprintf("alloc 0 %d", free+1), outOfMemory)
	pages := free / (2 * mib) * (2 * mib)
	first.want(fmt.Sprintf("alloc 0 %d", pages), success)
	second.script(
		"alloc 0 2097152", outOfMemory,
		"alloc 0 1", outOfMemory,
		"async 0 1", outOfMemory,
		"create 0 2097152", outOfMemory,
		fmt.Sprintf("alloc 0 %d", uint64(1)<<63), outOfMemory,
	)
	first.want("free 0", success)
	second.want(fmt.Sprintf("alloc 0 %d", pages), success)
	first.want("alloc 0 2097152", outOfMemory)
	second.kill() // the first program finds out when it needs room
	first.want(fmt.Sprintf("alloc 0 %d", pages+contextBytes), success)

	held := onDriver(view, 0)
	for _, process := range box.GPUs[0].Processes {
		if held[int(process.PID)] != process.Used {
			t.Errorf("the state's process %d holds %d, want %d", process.PID, held[int(process.PID)], process.Used)
		}
	}
}

// A stopped process keeps its memory, and does not block the others.
func TestStoppedProcess(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 0)
	view, first := startBoth(t, box)
	first.device(0).want("alloc 0 1073741824", success)
	first.signal(syscall.SIGSTOP)
	defer first.signal(syscall.SIGCONT)
	second := startCUDA(t, view.state).device(0)
	second.want("alloc 0 1073741824", success)
	wantHeld(view, box.GPUs[0], 0, map[int]uint64{first.pid(): contextBytes + gib, second.pid(): contextBytes + gib})
}

// Processes that race for the last pages fill the GPU and never overfill it: each page goes to one
// process.
func TestARaceForTheLastPages(t *testing.T) {
	t.Parallel()
	const racers, size = 16, 64 * mib
	box := fakedriver.Box(1, 0)
	view := startView(t, box)
	var programs []*cudaProgram
	for range racers {
		programs = append(programs, startCUDA(t, view.state).device(0))
	}
	for _, program := range programs {
		program.send(fmt.Sprintf("fill 0 %d", size))
	}
	want, got := map[int]uint64{}, uint64(0)
	for _, program := range programs {
		var code int
		var count uint64
		if _, err := fmt.Sscan(program.answer(), &code, &count); err != nil || code != 2 {
			t.Fatalf("fill: %d, %v", code, err)
		}
		got += count
		want[program.pid()] = contextBytes + count*size
	}
	if room := (box.GPUs[0].Free - racers*contextBytes) / size; got != room {
		t.Errorf("%d allocations, and there is room for %d", got, room)
	}
	wantHeld(view, box.GPUs[0], 0, want)
}

// If several processes race for the last allocation, only one at a time has it.
func TestTheLastPageIsGivenOnce(t *testing.T) {
	t.Parallel()
	const racers = 16
	box := fakedriver.Box(1, 0)
	box.GPUs[0].Free = racers*contextBytes + 64*mib
	view := startView(t, box)
	var programs []*cudaProgram
	for range racers {
		programs = append(programs, startCUDA(t, view.state).device(0))
	}
	for _, program := range programs {
		program.send(fmt.Sprintf("alone 20000 %d", 64*mib))
	}
	total := 0
	for _, program := range programs {
		var others, had int
		if _, err := fmt.Sscan(program.answer(), &others, &had); err != nil || others > 0 {
			t.Errorf("%d times two processes had the last page, %v", others, err)
		}
		total += had
	}
	if total == 0 {
		t.Error("no process ever had it")
	}
}

func TestFiftyProcessesAtOnce(t *testing.T) {
	t.Parallel()
	const processes = 50
	box := fakedriver.Box(2, 0)
	view := startView(t, box)
	var programs []*cudaProgram
	for i := range processes {
		programs = append(programs, startCUDA(t, view.state).device(i%2))
	}
	for i, program := range programs {
		program.send(fmt.Sprintf("churn %d 20000", i))
	}
	// Every reading while the programs work adds up.
	for range 20 {
		memory := view.numbers("memory2 0 0")
		if memory[1] != memory[2]+memory[3]+memory[4] {
			t.Errorf("total is not reserved + used + free: %v", memory)
		}
		for pid, used := range onDriver(view, 0) {
			if used < contextBytes || used > contextBytes+32*64*mib {
				t.Errorf("process %d holds %d", pid, used)
			}
		}
	}
	want := []map[int]uint64{{}, {}}
	for i, program := range programs {
		var code int
		var held uint64
		if _, err := fmt.Sscan(program.answer(), &code, &held); err != nil || code != 0 {
			t.Fatalf("churn: %d, %v", code, err)
		}
		want[i%2][program.pid()] = contextBytes + held
	}
	wantHeld(view, box.GPUs[0], 0, want[0])
	wantHeld(view, box.GPUs[1], 1, want[1])
	for i, program := range programs {
		if i%3 == 0 {
			program.kill()
			delete(want[i%2], program.pid())
		}
	}
	wantHeld(view, box.GPUs[0], 0, want[0])
	wantHeld(view, box.GPUs[1], 1, want[1])
	// Killed processes leave room in the ledger for a new process.
	program := startCUDA(t, view.state).device(0)
	program.want("alloc 0 2097152", success)
	want[0][program.pid()] = contextBytes + 2*mib
	wantHeld(view, box.GPUs[0], 0, want[0])
}

// A process in a pid namespace of its own is listed by its pid on the host, as the real driver
// lists it.
func TestProcessInAnotherPIDNamespace(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 0)
	view := startView(t, box)
	if out, err := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", "true").CombinedOutput(); err != nil {
		t.Skipf("no pid namespace to be had: %v %s", err, out)
	}
	library := fakedriver.Build(t, fakedriver.Current)
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", fakedriver.BuildCUDAClient(t))
	cmd.Env = append(os.Environ(), fakedriver.Environment(library, view.state)...)
	inside := startProgram(t, cmd, view.state)
	inside.device(0).want("alloc 0 1073741824", success)

	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", inside.pid()))
	if err != nil {
		t.Skip(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(children), &pid); err != nil {
		t.Fatal(err)
	}
	wantHeld(view, box.GPUs[0], 0, map[int]uint64{pid: contextBytes + gib})
}

// Processes of several users share the GPUs, and the ledger.
func TestProcessesOfSeveralUsers(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	const unprivileged = 65534
	box := fakedriver.Box(1, 0)
	view := startView(t, box)
	if err := fakedriver.PrepareLedger(view.state); err != nil {
		t.Fatal(err)
	}
	// The other user cannot read the test's own directories. This directory has copies of the files
	// that the other user's process needs.
	open, err := os.MkdirTemp("", "fakedriver-users-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(open) })
	library := fakedriver.CUDA(fakedriver.Build(t, fakedriver.Current))
	for name, file := range map[string]string{"program": fakedriver.BuildCUDAClient(t), "libcuda.so.1": library} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(open, name), content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, directory := range []string{open, filepath.Dir(view.state), filepath.Dir(filepath.Dir(view.state))} {
		if err := os.Chmod(directory, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	other := exec.Command(filepath.Join(open, "program"))
	other.Env = append(os.Environ(), fakedriver.Environment(filepath.Join(open, "libcuda.so.1"), view.state)...)
	other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	first := startProgram(t, other, view.state).device(0)
	first.want("alloc 0 1073741824", success)
	second := startCUDA(t, view.state).device(0)
	wantHeld(view, box.GPUs[0], 0, map[int]uint64{first.pid(): contextBytes + gib, second.pid(): contextBytes})
}

// NVML and CUDA run in one process: opening the ledger in one library must not drop the other library's lock.
func TestBothLibrariesInOneProcess(t *testing.T) {
	t.Parallel()
	python := needs.Tool(t, "python3")
	box := fakedriver.Box(1, 0)
	view := startView(t, box)
	cmd := exec.Command(python, "testdata/cuda.py")
	cmd.Env = append(os.Environ(), fakedriver.Environment(fakedriver.Build(t, fakedriver.Current), view.state)...)
	program := startProgram(t, cmd, view.state)
	for _, step := range []struct {
		command string
		held    uint64
	}{
		{"start", contextBytes},
		{"alloc 3221225472", contextBytes + 3*gib},
		{"async 104857600", contextBytes + 3*gib + 128*mib},
		{"trim", contextBytes + 3*gib + 128*mib}, // all of the chunks are in use
		{"free", contextBytes + 3*gib},
		{"again", contextBytes + 3*gib}, // NVML is shut down and initialised again
	} {
		// The program prints the bytes that its own NVML lists for it, and the GPU's free bytes by CUDA
		// and NVML.
		free := box.GPUs[0].Free - step.held
		program.want(step.command, fmt.Sprintf("%d %d %d", step.held, free, free))
		wantHeld(view, box.GPUs[0], 0, map[int]uint64{program.pid(): step.held})
	}
	if message := program.ask("error"); !strings.Contains(message, "CUDA_ERROR_INVALID_VALUE: invalid argument") {
		t.Errorf("a second free is %q", message)
	}
}

package fakedriver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"vramscope/internal/fakedriver"
	"vramscope/internal/needs"
)

// described is the output of testdata/describe.py, an ordinary program that uses nvidia-ml-py.
type described struct {
	Driver, NVML string
	CUDA         int
	GPUs         []describedGPU
}

type describedGPU struct {
	Error, Name, UUID, Bus string
	Memory                 map[string]uint64
	MemoryV1               map[string]uint64 `json:"memory_v1"`
	Utilization            *int
	Temperature            uint64
	Slowdown               uint64
	Power                  uint64
	PowerLimit             uint64 `json:"power_limit"`
	Clock                  uint64
	Throttle               uint64
	ECC                    []uint64
	MIG                    int
	Compute, Graphics, MPS []describedProcess
	Instances              []describedInstance
}

type describedProcess struct {
	PID      uint64
	Used     *uint64
	GI, CI   uint64
	Instance *uint64
}

type describedInstance struct {
	Name, UUID, Parent string
	GI, CI, Slices     uint64
	Memory             map[string]uint64
	Compute            []describedProcess
}

func describe(t *testing.T, box fakedriver.State) described {
	t.Helper()
	python := findPython(t)
	path := filepath.Join(t.TempDir(), "state")
	box.MustWrite(t, path)
	cmd := exec.Command(python, "testdata/describe.py")
	cmd.Env = append(os.Environ(), fakedriver.Environment(fakedriver.Build(t, fakedriver.Current), path)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var d described
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v in\n%s", err, out)
	}
	return d
}

func findPython(t *testing.T) string {
	t.Helper()
	for _, python := range []string{os.Getenv("VRAMSCOPE_PYTHON"), "python3"} {
		if python != "" && exec.Command(python, "-c", "import pynvml; pynvml.nvmlMemory_v2").Run() == nil {
			return python
		}
	}
	needs.Missing(t, "no nvidia-ml-py: pip install it, or name a Python that has it in VRAMSCOPE_PYTHON")
	return ""
}

func TestPythonSeesEveryFigure(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(16, 4)
	box.GPUs[2].Processes[0].Lists = "C+G"
	box.GPUs[2].Processes[0].GraphicsUsed = 4096
	box.GPUs[2].Processes[1].Lists = "M+C"
	box.GPUs[3].HideProcessMemory = true
	box.GPUs[4].Throttle = 0x24
	box.GPUs[5].ECCCorrected, box.GPUs[5].ECCUncorrected = 17, 2
	box.GPUs[6].Lost = true
	box.GPUs[7].Name = "NVIDIA \x1b]0;owned\x07 H100"
	got := describe(t, box)
	if got.Driver != box.Driver.Version || got.NVML != box.Driver.NVMLVersion || got.CUDA != 12040 || len(got.GPUs) != 16 {
		t.Fatalf("driver %s, NVML %s, CUDA %d, %d GPUs", got.Driver, got.NVML, got.CUDA, len(got.GPUs))
	}
	for i, gpu := range box.GPUs {
		if gpu.Lost {
			if got.GPUs[i].Error != "GPU is lost" {
				t.Errorf("GPU %d: %q, want lost", i, got.GPUs[i].Error)
			}
			continue
		}
		compare(t, i, gpu, got.GPUs[i])
	}
	if graphics := got.GPUs[2].Graphics; len(graphics) != 1 || *graphics[0].Used != 4096 {
		t.Errorf("graphics list of GPU 2: %+v", graphics)
	}
	if clients := got.GPUs[2].MPS; len(clients) != 1 || clients[0].PID != box.GPUs[2].Processes[1].PID {
		t.Errorf("MPS list of GPU 2: %+v", clients)
	}
}

func compare(t *testing.T, index int, want fakedriver.GPU, got describedGPU) {
	t.Helper()
	equal := func(what string, got, want any) {
		t.Helper()
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("GPU %d: %s is %v, want %v", index, what, got, want)
		}
	}
	equal("error", got.Error, "")
	equal("name", got.Name, want.Name)
	equal("UUID", got.UUID, want.UUID)
	equal("bus", got.Bus, fmt.Sprintf("%08X:%02X:00.0", want.PCIDomain, want.PCIBus))
	equal("memory", got.Memory, map[string]uint64{"total": want.Total, "reserved": want.Reserved, "used": want.Used, "free": want.Free})
	equal("memory v1", got.MemoryV1, map[string]uint64{"total": want.Total, "used": want.Used + want.Reserved, "free": want.Free})
	equal("utilisation", *got.Utilization, want.Utilization)
	equal("temperature", got.Temperature, want.Temperature)
	equal("slow-down", got.Slowdown, want.TemperatureSlowdown)
	equal("power", got.Power, want.Power)
	equal("power limit", got.PowerLimit, want.PowerLimit)
	equal("clock", got.Clock, want.SMClock)
	equal("throttle reasons", got.Throttle, want.Throttle)
	equal("ECC", got.ECC, []uint64{want.ECCMode, want.ECCCorrected, want.ECCUncorrected})
	equal("processes", len(got.Compute), len(want.Processes))
	for j, p := range want.Processes {
		equal("pid", got.Compute[j].PID, p.PID)
		if want.HideProcessMemory {
			equal("hidden memory", got.Compute[j].Used == nil, true)
			continue
		}
		equal("memory of a process", *got.Compute[j].Used, p.Used)
	}
}

func TestPythonSeesMIGInstances(t *testing.T) {
	t.Parallel()
	box := fakedriver.MIG()
	box.GPUs[0].Instances[2].Index = 5 // no instance has the indices 2 to 4
	got := describe(t, box).GPUs
	if got[0].MIG != 1 || got[1].MIG != 0 || got[0].Utilization != nil || got[1].Utilization == nil {
		t.Errorf("MIG modes %d %d, utilisation %v %v", got[0].MIG, got[1].MIG, got[0].Utilization, got[1].Utilization)
	}
	if len(got[0].Instances) != 3 || len(got[1].Instances) != 0 {
		t.Fatalf("%d and %d instances, want 3 and none", len(got[0].Instances), len(got[1].Instances))
	}
	for i, instance := range got[0].Instances {
		want := box.GPUs[0].Instances[i]
		figures := map[string]uint64{"total": want.Total, "reserved": want.Reserved, "used": want.Used, "free": want.Free}
		if instance.Name != "NVIDIA H100 80GB HBM3 MIG "+want.Profile || instance.UUID != want.UUID ||
			instance.GI != want.GPUInstance || instance.CI != want.Compute || instance.Slices != want.Slices ||
			instance.Parent != box.GPUs[0].UUID || fmt.Sprint(instance.Memory) != fmt.Sprint(figures) {
			t.Errorf("instance %d: %+v, want %+v", i, instance, want)
		}
	}
	for i, p := range box.GPUs[0].Processes {
		whole, inside := got[0].Compute[i], got[0].Instances[i].Compute
		if whole.PID != p.PID || whole.GI != p.GPUInstance || whole.CI != p.Compute || *whole.Used != p.Used {
			t.Errorf("process %d: %+v, want %+v", i, whole, p)
		}
		if len(inside) != 1 || inside[0].PID != p.PID {
			t.Errorf("instance %d has %+v, want only %d", i, inside, p.PID)
		}
	}
}

//go:build linux && cgo

package nvml

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"vramscope/internal/fakedriver"
	"vramscope/internal/quantity"
	"vramscope/metric"
)

func TestRefusedFieldCostsThatFieldOnly(t *testing.T) {
	b := alone(t, fakedriver.Current, boxWithFan())
	if b == nil {
		return
	}
	b.GPUs[0].NVLinks = 0 // the throughput of links never has the same value twice
	b.write()
	library, devices := b.open()
	whole := b.read(library, devices[0])
	unknown := quantity.Unknown[int]()
	fields := []struct {
		call  string
		clear func(*Reading) // clears the figures that only this call reports
	}{
		{"nvmlDeviceGetUtilizationRates", func(r *Reading) {
			r.Utilization, r.MemoryUtilization = quantity.Unknown[int](), quantity.Unknown[int]()
		}},
		{"nvmlDeviceGetTemperature", func(r *Reading) { r.Temperature = quantity.Unknown[int]() }},
		{"nvmlDeviceGetPowerUsage", func(r *Reading) { r.Power = quantity.Unknown[float64]() }},
		{"nvmlDeviceGetPerformanceState", func(r *Reading) { r.PerformanceState = quantity.Unknown[int]() }},
		{"nvmlDeviceGetFanSpeed", func(r *Reading) { r.Fan = quantity.Unknown[int]() }},
		{"nvmlDeviceGetClockInfo", func(r *Reading) {
			r.SMClock, r.MemoryClock = quantity.Unknown[int](), quantity.Unknown[int]()
		}},
		{"nvmlDeviceGetMaxClockInfo", func(r *Reading) { r.SMClockMax, r.MemoryClockMax = unknown, unknown }},
		{"nvmlDeviceGetEncoderUtilization", func(r *Reading) { r.EncoderUtilization = unknown }},
		{"nvmlDeviceGetDecoderUtilization", func(r *Reading) { r.DecoderUtilization = unknown }},
		{"nvmlDeviceGetCurrPcieLinkGeneration", func(r *Reading) { r.PCIeGeneration = unknown }},
		{"nvmlDeviceGetMaxPcieLinkGeneration", func(r *Reading) { r.PCIeGenerationMax = unknown }},
		{"nvmlDeviceGetCurrPcieLinkWidth", func(r *Reading) { r.PCIeWidth = unknown }},
		{"nvmlDeviceGetMaxPcieLinkWidth", func(r *Reading) { r.PCIeWidthMax = unknown }},
		{"nvmlDeviceGetBAR1MemoryInfo", func(r *Reading) { r.BAR1Used, r.BAR1Total = unknown, unknown }},
		{"nvmlDeviceGetRemappedRows", func(r *Reading) {
			r.RemappedCorrectable, r.RemappedUncorrectable, r.RemappingPending, r.RemappingFailed = unknown, unknown, unknown, unknown
		}},
		{"nvmlDeviceGetPersistenceMode", func(r *Reading) { r.Persistence = unknown }},
		{"nvmlDeviceGetComputeMode", func(r *Reading) { r.ComputeMode = unknown }},
		{"nvmlDeviceGetCurrentClocksEventReasons", func(r *Reading) {
			r.Throttle, r.ClockReasons = quantity.Unknown[Throttle](), unknown
		}},
		{"nvmlDeviceGetEccMode", func(r *Reading) { r.ECC = metric.ECC{} }},
		{"nvmlDeviceGetTotalEccErrors", func(r *Reading) {
			r.ECC.Corrected, r.ECC.Uncorrected = quantity.Unknown[uint64](), quantity.Unknown[uint64]()
		}},
		{"nvmlDeviceGetEnforcedPowerLimit", func(*Reading) {}}, // the limit that Open has read stays
		{"nvmlDeviceGetMigMode", func(*Reading) {}},
		{"nvmlDeviceGetGraphicsRunningProcesses*", func(*Reading) {}},
		{"nvmlDeviceGetMPSComputeRunningProcesses*", func(*Reading) {}},
		{"nvmlDeviceGetMemoryInfo*", func(r *Reading) { r.Memory = Memory{} }},
		{"nvmlDeviceGetComputeRunningProcesses*", func(r *Reading) { r.Processes = nil }},
	}
	for _, field := range fields {
		for _, answer := range []fakedriver.Return{fakedriver.NotSupported, fakedriver.NoPermission, fakedriver.Unknown} {
			if answer == fakedriver.Unknown && strings.Contains(field.call, "MemoryInfo") {
				continue // such an answer is not a refusal and ends the reading
			}
			b.GPUs[0].Fail(field.call, answer)
			b.write()
			b.later(library)
			got := b.read(library, devices[0])
			if lists := strings.Contains(field.call, "ComputeRunning") && !strings.Contains(field.call, "MPS"); (got.ProcessesError != nil) != lists {
				t.Errorf("%s: %d: processes: %v", field.call, answer, got.ProcessesError)
			}
			want := whole
			field.clear(&want)
			got.Time, got.ProcessesFrom, got.ProcessesTo, got.ProcessesError = want.Time, want.ProcessesFrom, want.ProcessesTo, nil
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s answers %d:\n got %+v\nwant %+v", field.call, answer, got, want)
			}
			b.GPUs[0].Heal()
		}
	}
	b.GPUs[0].Fail("nvmlDeviceGetMemoryInfo*", fakedriver.Unknown)
	b.write()
	if got, err := library.Read(devices[0]); err == nil || got.Memory != (Memory{}) || got.Processes != nil {
		t.Errorf("memory went wrong, and the reading was %+v, %v", got, err)
	}
}

func TestLostGPU(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.Box(3, 2))
	if b == nil {
		return
	}
	b.GPUs[2].Lost = true
	b.write()
	library, devices := b.open()
	if len(devices) != 3 || devices[2].UUID != "unknown-2" || devices[2].Index != 2 {
		t.Fatalf("with one lost from the start: %+v", devices)
	}
	for range 2 {
		b.read(library, devices[1])
	}
	b.GPUs[1].Raise(79)
	b.GPUs[1].Lost = true
	b.write()
	got, err := library.Read(devices[1])
	if !errors.Is(err, ErrGPULost) || !strings.Contains(err.Error(), "GPU 1") || !strings.Contains(err.Error(), "ERROR_GPU_IS_LOST") {
		t.Errorf("lost: %v", err)
	}
	if len(got.XIDs) != 1 || got.XIDs[0].Code != 79 || got.Memory != (Memory{}) {
		t.Errorf("why it was lost: %+v", got)
	}
	if _, err := library.Read(devices[2]); !errors.Is(err, ErrGPULost) {
		t.Errorf("lost from the start: %v", err)
	}
	b.expectMemory(b.read(library, devices[0]).Memory, &b.GPUs[0], quantity.Driver)

	// After another Open the lost GPU is still listed, under its UUID.
	_, again, err := library.Open()
	if err != nil {
		t.Fatal(err)
	}
	if again[1] != devices[1] {
		t.Errorf("lost GPU is now %+v", again[1])
	}
	if _, err := library.Read(again[1]); !errors.Is(err, ErrGPULost) {
		t.Errorf("still lost: %v", err)
	}

	b.GPUs[1].Lost, b.GPUs[2].Lost = false, false
	b.write()
	if _, again, err = library.Open(); err != nil {
		t.Fatal(err)
	}
	for i, device := range again {
		if device.UUID != b.GPUs[i].UUID {
			t.Errorf("back as %+v", device)
		}
		b.expectMemory(b.read(library, device).Memory, &b.GPUs[i], quantity.Driver)
	}
	if _, err := library.Read(Device{UUID: "GPU-of-another-box"}); !errors.Is(err, ErrGPULost) {
		t.Errorf("a GPU that was never there: %v", err)
	}
}

func TestDriverThatDoesNotOpen(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.Box(2, 1))
	if b == nil {
		return
	}
	library := New(Options{LibraryPath: b.library})
	for init, want := range map[fakedriver.Return]error{
		fakedriver.DriverNotLoaded: ErrDriverNotLoaded, fakedriver.VersionMismatch: ErrVersionMismatch,
		fakedriver.NoPermission: ErrNoPermission,
	} {
		b.Driver.Init = init
		b.write()
		driver, devices, err := library.Open()
		if !errors.Is(err, want) || devices != nil || driver.LibraryPath != b.library {
			t.Errorf("init answers %d: %+v, %v, %v", init, driver, devices, err)
		}
		if _, err := library.Read(Device{UUID: b.GPUs[0].UUID}); !errors.Is(err, ErrUninitialized) {
			t.Errorf("a reading without a driver: %v", err)
		}
	}
	b.Driver.Init = fakedriver.Success
	gpus := b.GPUs
	b.GPUs = nil
	b.write()
	if driver, devices, err := library.Open(); err != nil || len(devices) != 0 || driver.Version == "" {
		t.Errorf("without a GPU: %+v, %v, %v", driver, devices, err)
	}
	b.GPUs = gpus
	b.write()
	if _, devices, err := library.Open(); err != nil || len(devices) != 2 {
		t.Errorf("once the driver is there: %v, %v", devices, err)
	}

	// GPUs that a device cgroup hides are left out; if all are hidden, Open fails.
	b.GPUs[0].Fail("nvmlDeviceGetHandleByIndex*", fakedriver.OperatingSystem)
	b.write()
	if _, devices, err := library.Open(); err != nil || len(devices) != 1 || devices[0].Index != 1 {
		t.Errorf("with one hidden: %v, %v", devices, err)
	}
	b.GPUs[1].Fail("nvmlDeviceGetHandleByIndex*", fakedriver.NoPermission)
	b.write()
	if _, devices, err := library.Open(); !errors.Is(err, ErrNoPermission) {
		t.Errorf("with all hidden: %v, %v", devices, err)
	}
}

func TestNoLibrary(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	library := New(Options{LibraryPath: missing})
	_, _, err := library.Open()
	var detail *Error
	if !errors.Is(err, ErrLibraryNotFound) || !errors.As(err, &detail) || !strings.Contains(detail.Detail, "No such file") {
		t.Errorf("missing: %v", err)
	}
	if err := os.WriteFile(missing, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err = library.Open(); !errors.Is(err, ErrLibraryNotFound) || strings.Contains(err.Error(), "No such file") {
		t.Errorf("no library: %v", err)
	}
	// The file is a library, but not NVIDIA's. To call into it would end the process.
	if _, _, err = New(Options{LibraryPath: "libc.so.6"}).Open(); !errors.Is(err, ErrLibraryNotFound) {
		t.Errorf("another library: %v", err)
	}
	if library.Capabilities() != nil || library.NeedsRestart(err) {
		t.Error("a library that is not there has capabilities")
	}
	if err := library.Close(); err != nil {
		t.Errorf("closing what is not open: %v", err)
	}
}

func TestDriverReload(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.Box(2, 1))
	if b == nil {
		return
	}
	library, devices := b.open()
	b.Reload()
	b.write()
	if _, err := library.Read(devices[0]); !errors.Is(err, ErrUninitialized) {
		t.Errorf("after a reload: %v", err)
	}
	if _, _, err := library.Open(); err != nil {
		t.Fatal(err)
	}
	b.expectMemory(b.read(library, devices[0]).Memory, &b.GPUs[0], quantity.Driver)
}

// After a driver upgrade the loaded library cannot work again. A restart helps as soon as the new
// library is installed.
func TestNeedsRestart(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.Box(1, 1))
	if b == nil {
		return
	}
	content, err := os.ReadFile(b.library)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	install := func(release string) {
		file := "libnvidia-ml.so." + release
		if err := os.WriteFile(filepath.Join(directory, file), content, 0o700); err != nil {
			t.Fatal(err)
		}
		link := filepath.Join(directory, "libnvidia-ml.so.1")
		if err := errors.Join(os.Symlink(file, link+".new"), os.Rename(link+".new", link)); err != nil {
			t.Fatal(err)
		}
	}
	install("550.163.01")
	library := New(Options{LibraryPath: filepath.Join(directory, "libnvidia-ml.so.1")})
	driver, devices, err := library.Open()
	if err != nil || driver.LibraryVersion != "550.163.01" {
		t.Fatalf("%+v, %v", driver, err)
	}
	b.Driver.Init = fakedriver.VersionMismatch
	b.Reload()
	b.write()
	_, reading := library.Read(devices[0])
	_, _, mismatch := library.Open()
	if !errors.Is(mismatch, ErrVersionMismatch) || library.NeedsRestart(mismatch) {
		t.Errorf("half an upgrade: %v, restart: %v", mismatch, library.NeedsRestart(mismatch))
	}
	install("560.35.03")
	if !library.NeedsRestart(mismatch) {
		t.Error("the new library is there, and no restart is needed")
	}
	if library.NeedsRestart(reading) || library.NeedsRestart(nil) {
		t.Error("a restart is needed without reason")
	}
}

// The driver returns impossible or changing sizes and counts.
func TestWrongListSizes(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.Box(1, 100))
	if b == nil {
		return
	}
	library, devices := b.open()
	gpu := &b.GPUs[0]
	b.expectProcesses(b.read(library, devices[0]), gpu) // more processes than fit at first
	lists := "nvmlDeviceGet*"

	_, devices, err := library.Open()
	if err != nil {
		t.Fatal(err)
	}
	gpu.ReportSize(lists, 0)
	b.write()
	b.expectProcesses(b.read(library, devices[0]), gpu)
	gpu.Heal()
	gpu.ReportCount(lists, 4_000_000_000)
	b.write()
	b.expectProcesses(b.read(library, devices[0]), gpu)
	gpu.Heal()
	gpu.Fail("nvmlDeviceGetComputeRunningProcesses*", fakedriver.InsufficientSize)
	b.write()
	if got := b.read(library, devices[0]); got.ProcessesError == nil || got.Processes != nil || !got.Memory.Used.Known() {
		t.Errorf("a buffer that is never large enough: %+v", got)
	}
	gpu.Heal()
	gpu.ReportSize(lists, 4_000_000_000)
	for pid := uint64(5_000_000); pid < 5_020_000; pid++ {
		gpu.Processes = append(gpu.Processes, fakedriver.NewProcess(pid, 4096))
	}
	b.write()
	if got := b.read(library, devices[0]); got.ProcessesError == nil || got.Processes != nil {
		t.Errorf("%d processes from an endless list", len(got.Processes))
	}
	gpu.Processes = gpu.Processes[:1]
	gpu.Heal()
	gpu.Wobble = 3
	b.write()
	b.expectProcesses(b.read(library, devices[0]), gpu)
}

func TestMIG(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.MIG())
	if b == nil {
		return
	}
	library, devices := b.open()
	gpu := &b.GPUs[0]
	check := func() {
		t.Helper()
		reading := b.read(library, devices[0])
		b.expectMemory(reading.Memory, gpu, quantity.Driver)
		b.expectProcesses(reading, gpu)
		if !reading.MIGEnabled || reading.Utilization.Known() || len(reading.Instances) != len(gpu.Instances) {
			t.Fatalf("reading %+v", reading)
		}
		for i, instance := range reading.Instances {
			want := gpu.Instances[i]
			id := InstanceID{MIG: true, GPU: uint32(want.GPUInstance), Compute: uint32(want.Compute)}
			if instance.ID != id || instance.UUID != want.UUID || instance.Profile != want.Profile || instance.Slices != int(want.Slices) || instance.Whole != int(gpu.MIGMax) {
				t.Errorf("instance %+v, want %+v", instance, want)
			}
			b.expectMemory(instance.Memory, &fakedriver.GPU{Total: want.Total, Used: want.Used, Free: want.Free, Reserved: want.Reserved}, quantity.Driver)
		}
		for _, process := range reading.Processes {
			if want := gpu.Process(uint64(process.PID)); process.Instance != (InstanceID{MIG: true, GPU: uint32(want.GPUInstance), Compute: uint32(want.Compute)}) {
				t.Errorf("process %+v, want %+v", process, want)
			}
		}
	}
	check()
	if other := b.read(library, devices[1]); other.MIGEnabled || other.Instances != nil || other.Processes[0].Instance != (InstanceID{}) {
		t.Errorf("the GPU without MIG: %+v", other)
	}
	// To unprivileged users, only the handles of the instances list processes.
	unprivileged := func() {
		t.Helper()
		pointer := library.gpus[devices[0].UUID].pointer
		library.gpus[devices[0].UUID].pointer = nil
		reading := b.read(library, devices[0])
		library.gpus[devices[0].UUID].pointer = pointer
		b.expectProcesses(reading, gpu)
		if !slices.ContainsFunc(reading.Processes, func(p Process) bool { return p.Instance.GPU == 2 && p.Instance.MIG }) {
			t.Errorf("instances of %+v", reading.Processes)
		}
	}
	unprivileged()
	// Instances come and go while the GPU runs.
	gpu.Instances = gpu.Instances[:2]
	b.write()
	check()
	unprivileged()
}

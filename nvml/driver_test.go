//go:build linux && cgo

package nvml

import (
	"errors"
	"slices"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/quantity"
)

// expectMemory compares a memory with the state file, to the byte.
func (b *box) expectMemory(got Memory, gpu *fakedriver.GPU, source quantity.Source) {
	b.Helper()
	from := func(v uint64) quantity.Optional[quantity.Bytes] {
		return quantity.From(quantity.Bytes(v), source)
	}
	want := Memory{Total: from(gpu.Total), Used: from(gpu.Used), Free: from(gpu.Free), Reserved: from(gpu.Reserved)}
	if source == quantity.DriverV1 {
		want.Used, want.Reserved = from(gpu.Used+gpu.Reserved), quantity.Unknown[quantity.Bytes]()
	}
	if got != want {
		b.Errorf("GPU %d: memory %+v, want %+v", gpu.Minor, got, want)
	}
}

// expectProcesses compares the processes with the state file, to the byte.
func (b *box) expectProcesses(reading Reading, gpu *fakedriver.GPU) {
	b.Helper()
	if reading.ProcessesError != nil {
		b.Error(reading.ProcessesError)
	}
	if len(reading.Processes) != len(gpu.Processes) {
		b.Fatalf("GPU %d: %d processes, want %d", gpu.Minor, len(reading.Processes), len(gpu.Processes))
	}
	for _, got := range reading.Processes {
		want := gpu.Process(uint64(got.PID))
		if want == nil {
			b.Fatalf("GPU %d: process %d is not in the state", gpu.Minor, got.PID)
		}
		used, known := got.Used.Value()
		if known != (want.Used != fakedriver.Unavailable) || known && uint64(used) != want.Used || got.Type.String() != want.Lists {
			b.Errorf("GPU %d: got %+v, want %+v", gpu.Minor, got, *want)
		}
	}
}

func known[T comparable](b *box, name string, got quantity.Optional[T], want T) {
	b.Helper()
	if v, ok := got.Value(); !ok || v != want {
		b.Errorf("%s is %v (known: %v), want %v", name, v, ok, want)
	}
}

func TestReadReturnsTheDriversFigures(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.Box(3, 8))
	if b == nil {
		return
	}
	gpu := &b.GPUs[1]
	gpu.Throttle, gpu.ECCCorrected, gpu.ECCUncorrected = 0x44, 7, 2
	b.write()
	library := New(Options{LibraryPath: b.library, Now: b.now})
	driver, devices, err := library.Open()
	if err != nil {
		t.Fatal(err)
	}
	if driver.Version != "550.163.01" || driver.CUDAVersion != "12.4" || driver.LibraryPath != b.library {
		t.Errorf("driver %+v", driver)
	}
	if len(devices) != 3 {
		t.Fatalf("%d GPUs", len(devices))
	}
	for i, device := range devices {
		if device.Index != i || device.UUID != b.GPUs[i].UUID || device.Name != "NVIDIA H100 80GB HBM3" {
			t.Errorf("GPU %d is %+v", i, device)
		}
		reading := b.read(library, device)
		b.expectMemory(reading.Memory, &b.GPUs[i], quantity.Driver)
		b.expectProcesses(reading, &b.GPUs[i])
	}
	if devices[1].PCIBusID != "00000000:25:00.0" {
		t.Errorf("PCI bus %q", devices[1].PCIBusID)
	}
	known(b, "slow-down temperature", devices[1].TemperatureSlowdown, 89)
	known(b, "power limit", devices[1].PowerLimit, 700)

	reading := b.read(library, devices[1])
	known(b, "utilisation", reading.Utilization, int(gpu.Utilization))
	known(b, "memory utilisation", reading.MemoryUtilization, int(gpu.MemoryUtilization))
	known(b, "temperature", reading.Temperature, int(gpu.Temperature))
	known(b, "power", reading.Power, float64(gpu.Power)/1000)
	known(b, "SM clock", reading.SMClock, 1980)
	known(b, "memory clock", reading.MemoryClock, 2619)
	known(b, "throttle reasons", reading.Throttle, ThrottlePowerCap|ThrottleHardwareThermal)
	known(b, "ECC", reading.ECC.Enabled, true)
	known(b, "corrected errors", reading.ECC.Corrected, 7)
	known(b, "uncorrected errors", reading.ECC.Uncorrected, 2)
	if reading.MIGEnabled || reading.Instances != nil || reading.XIDs != nil || reading.Time.IsZero() {
		t.Errorf("reading %+v", reading)
	}

	// Changes are seen without another Open.
	gpu.Resize(gpu.Processes[2].PID, 5<<30)
	gpu.PowerLimit = 400_000
	b.write()
	b.later(library)
	reading = b.read(library, devices[1])
	b.expectMemory(reading.Memory, gpu, quantity.Driver)
	b.expectProcesses(reading, gpu)
	known(b, "power limit", reading.Device.PowerLimit, 400)

	for _, capability := range library.Capabilities() {
		if !capability.Available {
			t.Errorf("%s (%s) is reported missing", capability.Symbol, capability.Name)
		}
	}
	if err := library.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := library.Read(devices[0]); !errors.Is(err, ErrUninitialized) {
		t.Errorf("a reading after closing: %v", err)
	}
	if _, devices, err = library.Open(); err != nil || len(devices) != 3 {
		t.Fatalf("opened again: %d GPUs, %v", len(devices), err)
	}
	b.expectMemory(b.read(library, devices[2]).Memory, &b.GPUs[2], quantity.Driver)
}

// Old drivers lack some calls. To call a missing entry point would end the process.
func TestOldDrivers(t *testing.T) {
	t.Run("R470", testR470)
	t.Run("V1Only", testV1Only)
}

func testR470(t *testing.T)   { testOldDriver(t, fakedriver.R470) }
func testV1Only(t *testing.T) { testOldDriver(t, fakedriver.V1Only) }

func testOldDriver(t *testing.T, variant fakedriver.Variant) {
	b := alone(t, variant, fakedriver.Box(2, 5))
	if b == nil {
		return
	}
	b.GPUs[0].Throttle = 0x20
	b.GPUs[1].HideProcessMemory = true
	for i := range b.GPUs[1].Processes {
		b.GPUs[1].Processes[i].Used = fakedriver.Unavailable
	}
	b.write()
	library, devices := b.open()
	for i, device := range devices {
		reading := b.read(library, device)
		b.expectMemory(reading.Memory, &b.GPUs[i], quantity.DriverV1)
		b.expectProcesses(reading, &b.GPUs[i])
	}
	if devices[0].PCIBusID != "00000000:18:00.0" {
		t.Errorf("PCI bus %q", devices[0].PCIBusID)
	}
	known(b, "throttle reasons", b.read(library, devices[0]).Throttle, ThrottleSoftwareThermal)
	missing := func(c Capability) bool { return c.Symbol == "nvmlDeviceGetMemoryInfo_v2" && !c.Available }
	if !slices.ContainsFunc(library.Capabilities(), missing) {
		t.Error("memory v2 is not reported missing")
	}
}

// Drivers differ in the version field that they accept.
func TestMemoryVersions(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.Box(1, 1))
	if b == nil {
		return
	}
	library, devices := b.open()
	for _, taken := range []uint64{1, 2, 1, 0} {
		b.Driver.MemoryV2 = taken
		b.write()
		b.expectMemory(b.read(library, devices[0]).Memory, &b.GPUs[0], quantity.Driver)
	}
}

func TestOverlappingProcessLists(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.Box(1, 0))
	if b == nil {
		return
	}
	add := func(pid uint64, lists string, used, graphics uint64) {
		process := fakedriver.NewProcess(pid, used)
		process.Lists, process.GraphicsUsed = lists, graphics
		b.GPUs[0].Start(process)
	}
	add(40, "C+G", 2<<30, 18<<20)
	add(30, "M+C", 3<<30, fakedriver.Absent)
	add(20, "G", fakedriver.Unavailable, fakedriver.Absent)
	add(10, "C", 1<<30, fakedriver.Absent)
	b.write()
	library, devices := b.open()
	reading := b.read(library, devices[0])
	b.expectProcesses(reading, &b.GPUs[0])
	if pids := []int{reading.Processes[0].PID, reading.Processes[3].PID}; !slices.Equal(pids, []int{10, 40}) {
		t.Errorf("not in order: %v", pids)
	}
	known(b, "the larger of two lists' memory", reading.Processes[3].Used, 2<<30)
}

func TestSMUtilization(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.Box(1, 3))
	if b == nil {
		return
	}
	gpu := &b.GPUs[0]
	gpu.Processes[2].SM = fakedriver.Absent
	b.write()
	library, devices := b.open()
	for range 3 { // stays known even if no sample is newer than the last
		reading := b.read(library, devices[0])
		known(b, "first", reading.Processes[0].SMUtilization, 90)
		known(b, "second", reading.Processes[1].SMUtilization, 45)
		known(b, "idle one", reading.Processes[2].SMUtilization, 0)
	}
	gpu.Fail("nvmlDeviceGetProcessUtilization", fakedriver.NotSupported)
	b.write()
	for _, process := range b.read(library, devices[0]).Processes {
		if process.SMUtilization.Known() {
			t.Errorf("utilisation of %d is known from a driver that refuses it", process.PID)
		}
	}
}

func TestUnifiedMemory(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.Box(2, 1))
	if b == nil {
		return
	}
	spark := &b.GPUs[0]
	spark.Name, spark.Total, spark.BAR1Total = "NVIDIA GB10", fakedriver.Absent, fakedriver.Absent
	b.GPUs[1].Fail("nvmlDeviceGetMemoryInfo*", fakedriver.NotSupported)
	b.write()
	library := New(Options{LibraryPath: b.library, Proc: procWith(t, "MemTotal: 127600748 kB\nMemAvailable: 118566368 kB\n")})
	_, devices, err := library.Open()
	if err != nil {
		t.Fatal(err)
	}
	memory := b.read(library, devices[0]).Memory
	known(b, "total", memory.Total, 127600748*quantity.KiB)
	known(b, "used", memory.Used, (127600748-118566368)*quantity.KiB)
	if memory.Used.Source() != quantity.System {
		t.Errorf("the source of the host's memory is %s", memory.Used.Source())
	}
	// If the driver refuses to report a GPU's own memory, the GPU does not get the host's figures.
	if reading := b.read(library, devices[1]); reading.Memory != (Memory{}) || len(reading.Processes) != 1 {
		t.Errorf("memory %+v, processes %+v", reading.Memory, reading.Processes)
	}
	// An integrated GPU of an unknown name is recognised by its lack of a BAR1.
	spark.Name = "NVIDIA Next"
	b.write()
	if _, devices, err = library.Open(); err != nil {
		t.Fatal(err)
	}
	known(b, "total", b.read(library, devices[0]).Memory.Total, 127600748*quantity.KiB)
	// If the driver refuses for lack of permission, the GPU does not get the host's figures either.
	spark.Fail("nvmlDeviceGetMemoryInfo*", fakedriver.NoPermission)
	b.write()
	if reading := b.read(library, devices[0]); reading.Memory != (Memory{}) {
		t.Errorf("memory without permission: %+v", reading.Memory)
	}
}

func TestXIDs(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.Box(2, 1))
	if b == nil {
		return
	}
	b.GPUs[1].Fail("nvmlDeviceGetSupportedEventTypes", fakedriver.NotSupported)
	b.write()
	library, devices := b.open()
	for range 2 { // the event queue begins with the second reading
		for _, device := range devices {
			b.read(library, device)
		}
	}
	b.GPUs[0].Raise(31)
	b.GPUs[0].Raise(94)
	b.GPUs[1].Raise(94)
	b.write()
	before := time.Now()
	got := b.read(library, devices[0]).XIDs
	if len(got) != 2 || got[0].Code != 31 || got[1].Code != 94 || got[0].Time.Before(before) {
		t.Errorf("got %+v", got)
	}
	if again := b.read(library, devices[0]).XIDs; len(again) != 0 {
		t.Errorf("reported twice: %+v", again)
	}
	if without := b.read(library, devices[1]).XIDs; len(without) != 0 {
		t.Errorf("a GPU without events reports %+v", without)
	}
}

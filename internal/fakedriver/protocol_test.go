package fakedriver_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
)

func TestSizeQueries(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(2, 3)
	box.GPUs[1] = fakedriver.H100(1) // without processes
	c := startClient(t, box)
	c.want("init", "0")
	list := ""
	for _, p := range box.GPUs[0].Processes {
		list += fmt.Sprintf(" %d:%d", p.PID, p.Used)
	}
	for version := 1; version <= 3; version++ {
		ask := func(gpu, room int) string { return fmt.Sprintf("processes %d %d %d", version, gpu, room) }
		c.want(ask(0, -1), "7 3") // NULL: how many are there?
		c.want(ask(0, 2), "7 3")  // too few
		c.want(ask(0, 3), "0 3"+list)
		c.want(ask(0, 9), "0 3"+list) // room left over
		c.want(ask(1, -1), "0 0")     // no processes: the size query itself succeeds
	}
}

func TestVersionedMemory(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 2)
	c := startClient(t, box)
	c.want("init", "0")
	gpu := box.GPUs[0]
	second := fmt.Sprintf("0 %d %d %d %d", gpu.Total, gpu.Reserved, gpu.Used, gpu.Free)
	c.want("memory1 0", fmt.Sprintf("0 %d %d %d", gpu.Total, gpu.Used+gpu.Reserved, gpu.Free))
	c.want("memory2 0 0", second) // sizeof | 2<<24
	c.want("memory2 0 2", second) // bare
	c.want("memory2 0 1", "25 0 0 0 0")

	box.Driver.MemoryV2 = 1
	c.write(box)
	c.want("memory2 0 0", second)
	c.want("memory2 0 2", "25 0 0 0 0")
	box.Driver.MemoryV2 = 2
	c.write(box)
	c.want("memory2 0 0", "25 0 0 0 0")
	c.want("memory2 0 2", second)
}

// Callers of the first two versions of nvmlDeviceGetPciInfo pass a shorter struct than nvml.h
// declares. Writing beyond it would overwrite other memory of the caller.
func TestBusIDsKeepToTheStructOfTheirVersion(t *testing.T) {
	t.Parallel()
	c := startClient(t, fakedriver.Box(1, 0))
	c.want("init", "0")
	c.want("pci 1 0", "0 0000:18:00.0 233010de 36")
	c.want("pci 2 0", "0 0000:18:00.0 233010de 36")
	c.want("pci 3 0", "0 0000:18:00.0 233010de 68")
}

func TestStateChangesUnderARunningProgram(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(2, 2)
	c := startClient(t, box)
	c.want("init", "0")
	first := box.GPUs[0].Processes[0].PID
	// The states change as fast as possible. None may be mistaken for the previous state.
	for used := uint64(1); used <= 200; used++ {
		box.GPUs[0].Resize(first, used<<20)
		c.write(box)
		c.want("processes 3 0 9", fmt.Sprintf("0 2 %d:%d …", first, used<<20))
	}
	box.GPUs[0].End(first)
	c.write(box)
	c.want("processes 3 0 9", "0 1 …")
	box.GPUs[0].Start(fakedriver.NewProcess(77, 1<<30))
	box.GPUs[0].Processes[1].Used = fakedriver.Unavailable
	c.write(box)
	c.want("processes 3 0 9", fmt.Sprintf("0 2 %d:%d 77:18446744073709551615",
		box.GPUs[0].Processes[0].PID, box.GPUs[0].Processes[0].Used))

	box.GPUs[0].HideProcessMemory = true
	c.write(box)
	c.want("processes 1 0 9", fmt.Sprintf("0 2 %d:18446744073709551615 77:18446744073709551615", box.GPUs[0].Processes[0].PID))
}

func TestFaults(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(2, 2)
	whole := box.Clone()
	c := startClient(t, box)
	c.want("power 0", "1 0") // not initialised
	c.want("init", "0")
	c.want("power 0", fmt.Sprintf("0 %d", box.GPUs[0].Power))
	c.want("power 1", fmt.Sprintf("0 %d", box.GPUs[1].Power))
	c.want("power 99", "2 0") // a handle that was never given out
	c.want("handle 2", "2")

	box.GPUs[0].Fail("nvmlDeviceGetPower*", fakedriver.NotSupported)
	c.write(box)
	c.want("power 0", "3 0")
	c.want("power 1", "0 …")
	box.GPUs[0].Heal()
	box.GPUs[0].Power = fakedriver.Absent
	box.Fail("nvmlDeviceGetPowerUsage", fakedriver.NoPermission)
	c.write(box)
	c.want("power 0", "4 0")
	box.Heal("nvmlDeviceGetPowerUsage")
	c.write(box)
	c.want("power 0", "3 0") // the state has no power

	box.GPUs[0].Lost = true
	c.write(box)
	c.want("memory1 0", "15 0 0 0")
	c.want("handle 0", "15")
	c.want("count", "0 2")
	c.want("memory1 1", "0 …")
	c.write(whole)
	c.want("memory1 0", "0 …")

	gone := whole.Clone()
	gone.GPUs = gone.GPUs[:1]
	c.write(gone)
	c.want("memory1 1", "15 0 0 0") // GPU 1 was there when the program began
	c.want("count", "0 2")
	c.want("shutdown", "0")
	c.want("init", "0")
	c.want("count", "0 1")
}

func TestNonsenseCounts(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 3)
	box.GPUs[0].ReportSize("nvmlDeviceGetComputeRunningProcesses", 0)
	box.GPUs[0].ReportCount("nvmlDeviceGetComputeRunningProcesses_v3", 4_000_000)
	box.GPUs[0].Wobble = 2
	c := startClient(t, box)
	c.want("init", "0")
	c.want("processes 1 0 1", "7 0")
	c.want("processes 3 0 9", "0 4000000 …")
	// Two counts are too low, as if a process had started between the two calls.
	c.want("processes 2 0 1", "7 2")
	c.want("processes 2 0 2", "7 2")
	c.want("processes 2 0 2", "7 3")
	c.want("processes 2 0 3", "0 3 …")
}

func TestDriverReload(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 1)
	c := startClient(t, box)
	c.want("init", "0")
	c.want("power 0", "0 …")
	box.Reload()
	box.Driver.Init = fakedriver.VersionMismatch // the library on disk is already the new one
	c.write(box)
	c.want("power 0", "1 0")
	c.want("shutdown", "0")
	c.want("init", "18")
	box.Driver.Init = fakedriver.DriverNotLoaded
	c.write(box)
	c.want("init", "9")
	box.Driver.Init = fakedriver.Success
	c.write(box)
	c.want("init", "0")
	c.want("power 0", "0 …")
	c.want("shutdown", "0")
	c.want("shutdown", "1") // once too often
}

func TestHangEndsWhenTheStateSaysSo(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(2, 1)
	healthy := box.Clone()
	c := startClient(t, box)
	box.Hang("nvmlInit*", 30*time.Millisecond)
	c.write(box)
	began := time.Now()
	c.want("init", "0")
	if took := time.Since(began); took < 30*time.Millisecond {
		t.Errorf("an initialisation that hangs for 30 ms took %v", took)
	}
	c.want("power 0", "0 …")
	box.GPUs[0].Hang("nvmlDeviceGetPowerUsage", time.Hour)
	box.GPUs[1].Hang("nvmlDeviceGetPowerUsage", 30*time.Millisecond)
	c.write(box)

	began = time.Now()
	c.want("power 1", "0 …")
	if took := time.Since(began); took < 30*time.Millisecond {
		t.Errorf("a call that hangs for 30 ms took %v", took)
	}
	c.want("memory1 0", "0 …") // the other calls continue

	c.send("power 0")
	answered := make(chan string, 1)
	go func() {
		c.answers.Scan()
		answered <- c.answers.Text()
	}()
	select {
	case got := <-answered:
		t.Fatalf("the hanging call answered %s", got)
	case <-time.After(50 * time.Millisecond):
	}
	c.write(healthy)
	if got, want := <-answered, fmt.Sprintf("0 %d", healthy.GPUs[0].Power); got != want {
		t.Errorf("after the hang: %s, want %s", got, want)
	}
}

func TestXIDsReachEventSets(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(2, 1)
	box.GPUs[0].Raise(31) // before the GPU is registered, so not delivered
	c := startClient(t, box)
	c.want("init", "0")
	c.want("register 0", "0")
	c.want("register 1", "0")
	c.want("wait 0", "10 0")
	box.GPUs[0].Raise(13)
	box.GPUs[0].Raise(79)
	box.GPUs[0].Lost = true
	c.write(box)
	c.want("wait 0", "0 13")
	c.want("wait 1000", "0 79")
	c.want("wait 0", "15 0") // no event is left, and a GPU is lost
	box.GPUs[0].Lost = false
	c.write(box)
	c.want("wait 10", "10 0")

	c.send("wait 60000")
	box.GPUs[1].Raise(48)
	c.write(box)
	if got := c.answer(); got != "0 48" {
		t.Errorf("a waiting program got %s, want 0 48", got)
	}
}

func TestProcessUtilizationHasTimestamps(t *testing.T) {
	t.Parallel()
	box := fakedriver.Box(1, 3)
	gpu := &box.GPUs[0]
	const years30 = 30 * 365 * 24 * time.Hour // no second sample comes while the test runs
	gpu.SamplePeriod = uint64(years30.Microseconds())
	gpu.Processes[1].SM = fakedriver.Absent // idle: no sample
	c := startClient(t, box)
	c.want("init", "0")
	fields := strings.Fields(c.ask("utilization 0 0"))
	if len(fields) != 5 || strings.Join(fields[:3], " ") != "7 2 0" {
		t.Fatalf("samples: %v", fields)
	}
	sample, stamp, _ := strings.Cut(fields[3], "@")
	if want := fmt.Sprintf("%d:%d", gpu.Processes[0].PID, gpu.Processes[0].SM); sample != want {
		t.Errorf("first sample %s, want %s", sample, want)
	}
	seen, err := strconv.ParseUint(stamp, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if seen == 0 || seen%gpu.SamplePeriod != 0 {
		t.Errorf("the sample's time %d is not the beginning of a period of %d", seen, gpu.SamplePeriod)
	}
	c.want("utilization 0 "+stamp, "6 0")
	c.want(fmt.Sprintf("utilization 0 %d", seen-1), "7 2 …")

	gpu.SamplePeriod = 1000
	c.write(box)
	_, stamp, _ = strings.Cut(strings.Fields(c.ask("utilization 0 0"))[3], "@")
	seen, err = strconv.ParseUint(stamp, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if age := time.Since(time.UnixMicro(int64(seen))); age < 0 || age > time.Minute {
		t.Errorf("the newest sample is %v old", age)
	}

	gpu.MIGMode = 1
	c.write(box)
	c.want("utilization 0 0", "3 0")
}

func TestStatesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	c := startClient(t, fakedriver.Box(1, 1))
	c.want("init", "0")
	box := fakedriver.Box(1, 1)
	box.GPUs[0].Name = strings.Repeat("x", 300) // longer than any buffer
	c.write(box)
	c.want("power 0", "1 0")
	c.want("init", "9")
	if said, err := os.ReadFile(c.stderr); err != nil || strings.Count(string(said), "line 8 not understood: name xxx") != 1 {
		t.Errorf("what is wrong was to be said once: %q, %v", said, err)
	}
	c.write(fakedriver.Box(1, 1))
	c.want("power 0", "0 …")
}

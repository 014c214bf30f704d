//go:build linux && cgo

package nvml

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/metric"
)

// The sensors that are fields of Device.
var facts = map[metric.ID]bool{metric.TemperatureSlowdown: true, metric.PowerLimit: true}

func TestReadFillsEverySensor(t *testing.T) {
	b := alone(t, fakedriver.Current, boxWithFan())
	if b == nil {
		return
	}
	library, devices := b.open()
	b.read(library, devices[0])
	time.Sleep(10 * time.Millisecond) // the throughput of NVLink needs two readings
	reading := b.read(library, devices[0])
	for id := metric.FirstSensor; id < metric.Count; id++ {
		if reading.Value(id).Known() == facts[id] {
			t.Errorf("%s is %v", metric.Table[id].Name, reading.Value(id))
		}
	}
	gpu := b.GPUs[0]
	for id, want := range map[metric.ID]uint64{
		metric.Fan: gpu.Fan, metric.PerformanceState: gpu.PState,
		metric.PCIeReceived: gpu.PCIeRX * 1000, metric.PCIeSent: gpu.PCIeTX * 1000,
		metric.EncoderUtilization: gpu.EncoderUtilization, metric.DecoderUtilization: gpu.DecoderUtilization,
		metric.SMClockMax: gpu.SMClockMax, metric.MemoryClockMax: gpu.MemoryClockMax, metric.ClockReasons: gpu.Throttle,
		metric.PCIeGeneration: gpu.PCIeGen, metric.PCIeGenerationMax: gpu.PCIeGenMax,
		metric.PCIeWidth: gpu.PCIeWidth, metric.PCIeWidthMax: gpu.PCIeWidthMax,
		metric.BAR1Used: gpu.BAR1Used, metric.BAR1Total: gpu.BAR1Total,
		metric.RemappedCorrectable: gpu.RemappedCorrectable, metric.RemappedUncorrectable: gpu.RemappedUncorrectable,
		metric.RemappingPending: gpu.RemappingPending, metric.RemappingFailed: gpu.RemappingFailed,
		metric.Persistence: gpu.Persistence, metric.ComputeMode: gpu.ComputeMode,
		metric.NVLinkCount: gpu.NVLinks, metric.NVLinksUp: gpu.NVLinks - gpu.NVLinksDown,
		metric.NVLinkErrors: gpu.NVLinkReplays + gpu.NVLinkRecoveries + gpu.NVLinkCRC,
	} {
		if got := reading.Value(id).Or(-1); got != float64(want) {
			t.Errorf("%s is %v, want %d", metric.Table[id].Name, got, want)
		}
	}
	if got := reading.Energy.Or(-1); got != float64(gpu.Energy)/1000 {
		t.Errorf("%v J, want %d mJ", got, gpu.Energy)
	}
	b.GPUs[0].Energy = 1 << 63 // an impossible value
	b.write()
	library, devices = b.open() // another Open, because Energy is otherwise read every ten seconds
	if reading = b.read(library, devices[0]); reading.Energy.Known() {
		t.Errorf("2^63 mJ are %v J", reading.Energy)
	}
	b.GPUs[0].PState = 32 // NVML_PSTATE_UNKNOWN
	b.GPUs[0].Fan = fakedriver.Absent
	b.write()
	if reading = b.read(library, devices[0]); reading.PerformanceState.Known() || reading.Fan.Known() {
		t.Errorf("an unknown P-state is %v, a fan that is not there turns at %v", reading.PerformanceState, reading.Fan)
	}
}

// A command that reads once waits for the throughput, but not without limit if a call hangs.
func TestCompleteReadingEndsUnderAHangingThroughput(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.Box(1, 1))
	if b == nil {
		return
	}
	b.GPUs[0].Hang("nvmlDeviceGetPcieThroughput", time.Hour)
	b.write()
	library, devices := b.open()
	read := make(chan Reading, 1)
	go func() { read <- b.read(library, devices[0]) }()
	select {
	case reading := <-read:
		if reading.PCIeReceived.Known() || !reading.Memory.Used.Known() {
			t.Errorf("the reading is %+v", reading)
		}
	case <-time.After(30 * time.Second):
		t.Error("the reading does not end")
	}
	b.GPUs[0].Heal()
	b.write()
}

func TestThroughputDoesNotDelayReadings(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.Box(1, 1))
	if b == nil {
		return
	}
	start := time.Now()
	var passed atomic.Int64 // measurements read the clock on goroutines of their own
	library := New(Options{LibraryPath: b.library, Now: func() time.Time { return start.Add(time.Duration(passed.Load())) }})
	library.Details(true)
	_, devices, err := library.Open()
	if err != nil {
		t.Fatal(err)
	}
	// until repeats Read until the throughput is the given KB/s; -1 means unknown.
	until := func(received int) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			reading := b.read(library, devices[0])
			if got := reading.PCIeReceived.Or(-1000); got == received*1000 {
				return
			} else if time.Now().After(deadline) {
				t.Fatalf("received %d bytes/s, want %d", got, received*1000)
			}
		}
	}
	until(int(b.GPUs[0].PCIeRX))

	// A measurement that hangs does not delay a reading, and the result of the last one expires.
	b.GPUs[0].Hang("nvmlDeviceGetPcieThroughput", time.Hour)
	b.write()
	passed.Add(int64(throughputInterval))
	began := time.Now()
	b.read(library, devices[0])
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("a reading took %v", took)
	}
	passed.Add(int64(10 * time.Second))
	until(-1)
	if err := library.Close(); err == nil {
		t.Error("closed under a call that hangs")
	}

	b.GPUs[0].Heal()
	b.GPUs[0].PCIeRX = 777
	b.write()
	passed.Add(int64(throughputInterval))
	until(777)

	b.GPUs[0].Fail("nvmlDeviceGetPcieThroughput", fakedriver.NotSupported)
	b.write()
	passed.Add(int64(throughputInterval))
	until(-1)
	if err := library.Close(); err != nil {
		t.Error(err)
	}
}

func TestReadingPanicsWithTheStackOfTheMeasurement(t *testing.T) {
	r := reading{Library: New(Options{}), gpu: &gpu{}, lib: &loaded{symbols: make(symbolSet, len(symbols))}}
	r.lib.symbols[symPCIeThroughput] = true
	r.gate.open = true
	r.started = time.Now()
	r.readThroughput() // starts a measurement, which panics because there is no handle
	defer func() {
		if value := fmt.Sprint(recover()); !strings.Contains(value, "(*throughput).measure") {
			t.Errorf("the next reading panics with %s, want the stack of the measurement", value)
		}
		if _, err := r.gate.begin(); err != nil {
			t.Errorf("the library cannot be closed: %v", err)
		}
	}()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		r.readThroughput()
	}
}

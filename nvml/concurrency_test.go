//go:build linux && cgo

package nvml

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"vramscope/internal/fakedriver"
	"vramscope/internal/quantity"
)

// A call that hangs blocks only its own GPU, Open and Close.
func TestHangingCallBlocksItsGPUOnly(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.Box(2, 1))
	if b == nil {
		return
	}
	library, devices := b.open()
	b.GPUs[0].Hang("nvmlDeviceGetMemoryInfo*", time.Hour)
	b.write()
	done := make(chan error)
	go func() {
		_, err := library.Read(devices[0])
		done <- err
	}()
	for !library.gpus[devices[0].UUID].busy.Load() {
		time.Sleep(time.Millisecond)
	}
	b.expectMemory(b.read(library, devices[1]).Memory, &b.GPUs[1], quantity.Driver)
	if err := library.Close(); !errors.Is(err, ErrBusy) {
		t.Errorf("close: %v", err)
	}
	if _, _, err := library.Open(); !errors.Is(err, ErrBusy) {
		t.Errorf("open: %v", err)
	}
	if _, err := library.Read(devices[0]); !errors.Is(err, ErrBusy) {
		t.Errorf("a second reading of the same GPU: %v", err)
	}
	b.GPUs[0].Heal()
	b.write()
	if err := <-done; err != nil {
		t.Errorf("the hung reading: %v", err)
	}
	b.expectMemory(b.read(library, devices[0]).Memory, &b.GPUs[0], quantity.Driver)
}

// Readings of all GPUs run at once. While the library is opened again, each reading is complete or fails.
func TestConcurrentReadings(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.Box(8, 8))
	if b == nil {
		return
	}
	library, devices := b.open()
	read := func(mayFail bool) {
		var readers sync.WaitGroup
		for i, device := range devices {
			readers.Go(func() {
				for range 50 {
					reading, err := library.Read(device)
					if mayFail && (errors.Is(err, ErrBusy) || errors.Is(err, ErrUninitialized)) {
						continue
					}
					if err != nil || reading.Device.UUID != b.GPUs[i].UUID || len(reading.Processes) != 8 {
						t.Errorf("GPU %d: %+v, %v", i, reading, err)
						return
					}
				}
			})
		}
		readers.Wait()
	}
	read(false)
	var opener sync.WaitGroup
	opener.Go(func() {
		for range 50 {
			if _, _, err := library.Open(); err != nil && !errors.Is(err, ErrBusy) {
				t.Errorf("open: %v", err)
			}
			if len(library.Capabilities()) == 0 {
				t.Error("no capabilities while opening")
			}
		}
	})
	read(true)
	opener.Wait()
}

func TestReadRejectsNonsense(t *testing.T) {
	b := alone(t, fakedriver.Current, fakedriver.MIG())
	if b == nil {
		return
	}
	random := rand.New(rand.NewPCG(1, 2))
	figure := func() uint64 {
		choices := []uint64{0, 1, random.Uint64N(1 << 37), random.Uint64(), 1 << 63, 1<<32 - 1, 1<<31 + 7, fakedriver.Unavailable, fakedriver.Absent}
		return choices[random.IntN(len(choices))]
	}
	present := func() uint64 { // for keys that must be present
		for {
			if v := figure(); v != fakedriver.Absent {
				return v
			}
		}
	}
	calls := []string{"nvmlDeviceGetCompute*", "nvmlDeviceGetProcessUtilization", "nvmlDeviceGetMemoryInfo*", "nvmlDeviceGet*", "nvmlDeviceGetMig*", "nvmlEventSet*"}
	sane := b.State
	answered := 0
	for round := range 150 {
		b.State = sane.Clone()
		for i := range b.GPUs {
			gpu := &b.GPUs[i]
			gpu.Name, gpu.Total, gpu.Used, gpu.Free, gpu.Reserved = "\x1b]0;\xffH100\a", figure(), figure(), figure(), figure()
			gpu.Utilization, gpu.Temperature, gpu.Power, gpu.PowerLimit = figure(), figure(), figure(), figure()
			gpu.SMClock, gpu.MIGMax, gpu.ECCCorrected, gpu.Throttle = figure(), figure(), figure(), figure()
			for j := range gpu.Processes {
				gpu.Processes[j].PID, gpu.Processes[j].Used, gpu.Processes[j].SM = present(), figure(), figure()
				gpu.Processes[j].GPUInstance = figure()
			}
			for j := range gpu.Instances {
				gpu.Instances[j].Total, gpu.Instances[j].Used, gpu.Instances[j].GPUInstance = present(), figure(), present()
			}
			call := calls[random.IntN(len(calls))]
			switch round % 4 {
			case 1:
				gpu.ReportCount(call, figure())
			case 2:
				gpu.ReportSize(call, figure())
			case 3:
				gpu.Fail(call, fakedriver.Return(random.IntN(32)))
			}
		}
		b.write()
		library := New(Options{LibraryPath: b.library})
		_, devices, err := library.Open()
		if err != nil {
			continue
		}
		for _, device := range devices {
			for range 3 {
				reading, err := library.Read(device)
				if err == nil {
					answered++
					expectPossible(t, reading)
				}
			}
		}
		if err := library.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if answered < 100 {
		t.Errorf("only %d readings answered: the test tests little", answered)
	}
}

// expectPossible fails if a reading holds a figure that no GPU can have.
func expectPossible(t *testing.T, reading Reading) {
	t.Helper()
	memories := []Memory{reading.Memory}
	for _, instance := range reading.Instances {
		memories = append(memories, instance.Memory)
	}
	for _, m := range memories {
		total := m.Total.Or(quantity.PiB)
		for _, part := range []quantity.Optional[quantity.Bytes]{m.Used, m.Free, m.Reserved} {
			if v := part.Or(0); v < 0 || v > total {
				t.Errorf("%d of %d", v, total)
			}
		}
	}
	for _, p := range reading.Processes {
		if p.PID <= 0 || p.Used.Or(0) < 0 || p.Used.Or(0) > reading.Memory.Total.Or(quantity.PiB) || p.SMUtilization.Or(0) > 100 || p.Type == 0 {
			t.Errorf("process %+v of %+v", p, reading.Memory)
		}
	}
	if reading.Utilization.Or(0) > 100 || reading.Temperature.Or(0) > 200 || reading.Power.Or(0) > 1e6 || reading.SMClock.Or(0) > 100_000 {
		t.Errorf("reading %+v", reading)
	}
	if reading.Device.Name != "]0;H100" && reading.Device.Name != "" {
		t.Errorf("name %q", reading.Device.Name)
	}
}

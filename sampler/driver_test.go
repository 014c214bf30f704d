package sampler

import (
	"context"
	"sync"
	"testing"
	"time"

	"vramscope/internal/quantity"
	"vramscope/nvml"
	"vramscope/sampler/snapshot"
)

func lost() error {
	return &nvml.Error{Name: "ERROR_GPU_IS_LOST", Call: "nvmlDeviceGetMemoryInfo_v2", Kind: nvml.ErrGPULost}
}

func TestLostGPUKeepsItsPlace(t *testing.T) {
	b := newBox(3)
	s := b.sampler()
	b.tick(s)
	b.readErr["GPU-1"] = lost()
	spinning := b.processes[101]
	spinning.CPU, spinning.Memory = quantity.From(100.0, quantity.System), quantity.From(27*gib, quantity.System)
	b.processes[101] = spinning
	snap := b.tick(s)
	g := snap.GPUs[1]
	if g.State != snapshot.GPULost || g.Message != "GPU_IS_LOST" || g.Memory.Used.Known() {
		t.Fatalf("got state %s, message %q, used %v", g.State, g.Message, g.Memory.Used)
	}
	if had := bytesOf(t, g.LastUsed); had != 10*gib {
		t.Errorf("last used %v", had)
	}
	if !g.RetryAt.After(snap.Time) {
		t.Error("a lost GPU says when it is asked again")
	}
	if snap.GPUs[0].State != snapshot.GPUOK || !snap.GPUs[2].Memory.Used.Known() {
		t.Error("the others lost their figures")
	}
	if len(snap.Rows) != 3 || snap.Rows[1].Used.Known() {
		t.Errorf("its process stays, with its memory unknown: %+v", snap.Rows)
	}
	if p := &snap.Rows[1]; p.CPU.Or(0) != 100 || bytesOf(t, p.Host) != 27*gib {
		t.Errorf("CPU %v and host memory %v of its process, want what /proc says", p.CPU, p.Host)
	}

	delete(b.readErr, "GPU-1")
	for range 3 {
		snap = b.tick(s)
	}
	if snap.GPUs[1].State != snapshot.GPUOK || bytesOf(t, snap.Rows[1].Used) != 10*gib {
		t.Errorf("state %s after it came back", snap.GPUs[1].State)
	}
	var kinds []snapshot.EventKind
	for _, e := range s.History().Events(0) {
		kinds = append(kinds, e.Kind)
	}
	if len(kinds) != 2 || kinds[0] != snapshot.EventGPUBack || kinds[1] != snapshot.EventGPULost {
		t.Errorf("events %v, want lost and back", kinds)
	}
}

func TestXidOfALostGPUIsKept(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	b.tick(s)
	r := b.readings["GPU-0"]
	r.XIDs = []nvml.XID{{Code: 79, Time: b.now}}
	b.readings["GPU-0"] = r
	b.readErr["GPU-0"] = lost()
	snap := b.tick(s)
	if x := snap.GPUs[0].XIDs; len(x) != 1 || x[0].Code != 79 {
		t.Errorf("Xids %v, want 79", x)
	}
}

func TestLostGPUIsRetriedWithBackoffAndANewLibrary(t *testing.T) {
	b := newBox(2)
	s := b.sampler()
	b.readErr["GPU-1"] = lost()
	for range 60 {
		b.tick(s)
	}
	if b.opens < 3 || b.opens > 12 {
		t.Errorf("the library was opened %d times in a minute of a lost GPU", b.opens)
	}
	if s.Latest().GPUs[0].State != snapshot.GPUOK {
		t.Error("the healthy GPU suffered from it")
	}
}

func TestHangingGPUDelaysOneTickOnly(t *testing.T) {
	b := newBox(3)
	const deadline = time.Second
	s := b.sampler(func(o *Options) { o.Deadline = deadline })
	b.tick(s)
	gate := make(chan struct{})
	b.mu.Lock()
	b.hang["GPU-1"] = gate
	b.mu.Unlock()

	snap := b.tick(s)
	if snap.GPUs[1].State != snapshot.GPUHanging {
		t.Fatalf("state %s", snap.GPUs[1].State)
	}
	begin := time.Now()
	for range 20 {
		snap = b.tick(s)
		if !snap.GPUs[0].Memory.Used.Known() || !snap.GPUs[2].Memory.Used.Known() {
			t.Fatal("the others lost their figures")
		}
	}
	if took := time.Since(begin); took > 10*deadline {
		t.Errorf("20 ticks beside a hanging GPU took %v: each waited for it", took)
	}
	b.mu.Lock()
	delete(b.hang, "GPU-1")
	b.mu.Unlock()
	close(gate)
	for deadline := time.Now().Add(testTimeout); snap.GPUs[1].State != snapshot.GPUOK && time.Now().Before(deadline); {
		snap = b.tick(s)
	}
	if snap.GPUs[1].State != snapshot.GPUOK {
		t.Errorf("state %s after the call came back", snap.GPUs[1].State)
	}
}

func TestDriverIsNotClosedDuringAHangingCall(t *testing.T) {
	b := newBox(2)
	s := b.sampler(func(o *Options) { o.Deadline = hangTime })
	b.tick(s)
	gate := make(chan struct{})
	defer close(gate)
	b.mu.Lock()
	b.hang["GPU-1"] = gate
	b.mu.Unlock()
	b.tick(s)
	s.driver.close()
	if b.closes != 0 {
		t.Error("the library was shut down while a call was outstanding")
	}
}

func TestMissingDriverIsRetried(t *testing.T) {
	b := newBox(2)
	b.openErr = nvml.ErrDriverNotLoaded
	s := b.sampler()
	snap := b.tick(s)
	if snap.Driver.State != snapshot.DriverNotLoaded || snap.Driver.RetryAt.IsZero() || len(snap.GPUs) != 0 {
		t.Fatalf("got %+v", snap.Driver)
	}
	b.openErr = nil
	for range 5 {
		snap = b.tick(s)
	}
	if snap.Driver.State != snapshot.DriverOK || len(snap.GPUs) != 2 || len(snap.Rows) != 2 || snap.Driver.Failures != 1 {
		t.Errorf("driver %s, %d GPUs, %d failures", snap.Driver.State, len(snap.GPUs), snap.Driver.Failures)
	}
}

func TestTheMemoryCallIsTheOneThatAnswers(t *testing.T) {
	for source, want := range map[quantity.Source]string{quantity.Driver: "v2", quantity.DriverV1: "v1", quantity.System: ""} {
		b := newBox(1)
		r := b.readings["GPU-0"]
		r.Memory.Used = quantity.From(10*quantity.GiB, source)
		b.readings["GPU-0"] = r
		if got := b.tick(b.sampler()).Driver.MemoryCall; got != want {
			t.Errorf("%v: %q, want %q", source, got, want)
		}
	}
}

func TestHistoryStaysWhenTheDriverIsLost(t *testing.T) {
	b := newBox(2)
	s := b.sampler()
	b.tick(s)
	for _, d := range b.devices {
		b.readErr[d.UUID] = &nvml.Error{Name: "ERROR_UNINITIALIZED", Call: "x", Kind: nvml.ErrUninitialized}
	}
	b.openErr = nvml.ErrDriverNotLoaded
	snap := b.tick(s)
	if snap.Driver.State != snapshot.DriverGone || snap.Driver.Version != "550.163.01" {
		t.Fatalf("got %+v", snap.Driver)
	}
	if len(snap.GPUs) != 2 || bytesOf(t, snap.GPUs[0].LastUsed) != 10*gib {
		t.Error("what was last seen is kept")
	}
	since := snap.Driver.Since
	if snap = b.tick(s); !snap.Driver.Since.Equal(since) {
		t.Error("the moment it went away moves")
	}
	b.openErr = nil
	clear(b.readErr)
	for range 6 {
		snap = b.tick(s)
	}
	if snap.Driver.State != snapshot.DriverOK || !snap.GPUs[1].Memory.Used.Known() {
		t.Errorf("driver %s, GPU 1 %s", snap.Driver.State, snap.GPUs[1].State)
	}
	if p := s.History().Series(snapshot.SeriesKey{GPUUUID: "GPU-0"}, start, start.Add(time.Second), 1); !p[0].Known {
		t.Error("the history before the loss of the driver is empty")
	}
}

func TestOnlyFiltersGPUs(t *testing.T) {
	for _, only := range [][]string{{"2"}, {"GPU-2"}} {
		b := newBox(4)
		b.answer(101, "GPU-1", gib, 0, 0, 0)
		snap := b.tick(b.sampler(func(o *Options) { o.Only = only }))
		if len(snap.GPUs) != 1 || snap.GPUs[0].Index != 2 || len(snap.Rows) != 1 {
			t.Errorf("--gpu %v shows %d GPUs", only, len(snap.GPUs))
		}
	}
}

func TestRowsStayWhenTheProcessListCannotBeRead(t *testing.T) {
	b := newBox(1)
	s := b.sampler()
	b.tick(s)
	r := b.readings["GPU-0"]
	r.Processes, r.ProcessesError = nil, nvml.ErrNoPermission
	b.readings["GPU-0"] = r
	snap := b.tick(s)
	if len(snap.Rows) != 1 || snap.Rows[0].Used.Known() || snap.GPUs[0].ProcessCount.Known() {
		t.Errorf("rows %+v", snap.Rows)
	}
}

func TestProbesAnswerWithoutADriver(t *testing.T) {
	b := newBox(1)
	b.openErr = nvml.ErrLibraryNotFound
	b.answer(100, "GPU-7", 5*gib, gib, 0, gib)
	s := b.sampler()
	snap := b.tick(s)
	if snap.Driver.State != snapshot.DriverAbsent || snap.Driver.ProbesAnswering != 1 {
		t.Fatalf("got %+v", snap.Driver)
	}
	if len(snap.GPUs) != 1 || snap.GPUs[0].UUID != "GPU-7" || len(snap.Rows) != 1 {
		t.Fatalf("the probe's process stands under its device: %+v", snap.GPUs)
	}
	p := snap.Rows[0]
	if p.Used.Known() || p.Other.Known() || bytesOf(t, p.Allocated) != 5*gib {
		t.Errorf("used %v, other %v, allocated %v", p.Used, p.Other, p.Allocated)
	}
}

func TestReopeningTheLibraryKeepsTheOtherGPUs(t *testing.T) {
	b := newBox(2)
	s := b.sampler(func(o *Options) { o.Deadline = 300 * time.Millisecond })
	b.tick(s)
	b.readErr["GPU-1"] = lost()
	gate := make(chan struct{})
	b.mu.Lock()
	b.openHang = gate
	b.mu.Unlock()
	var snap *snapshot.Snapshot
	gaps := 0
	for range 9 {
		snap = b.tick(s)
		if snap.GPUs[0].State != snapshot.GPUOK {
			t.Fatalf("GPU 0 is %s (%s), because GPU 1 is lost", snap.GPUs[0].State, snap.GPUs[0].Message)
		}
		if !snap.GPUs[0].Memory.Used.Known() {
			gaps++
		}
	}
	if gaps == 0 {
		t.Fatal("the library was never opened again")
	}
	for range 12 {
		snap = b.tick(s)
	}
	if snap.GPUs[0].State != snapshot.GPUHanging {
		t.Errorf("after an Open of more than 10 s: GPU 0 %s", snap.GPUs[0].State)
	}
	close(gate)
	for deadline := time.Now().Add(testTimeout); !snap.GPUs[0].Memory.Used.Known(); snap = b.tick(s) {
		if time.Now().After(deadline) {
			t.Fatalf("GPU 0 is %s", snap.GPUs[0].State)
		}
	}
}

func TestGPULostAtTheStartIsListedOnceWhenItIsBack(t *testing.T) {
	b := newBox(2)
	named := b.devices[1]
	b.devices[1] = nvml.Device{Index: 1, UUID: "unknown-1"}
	b.readErr["unknown-1"] = lost()
	s := b.sampler()
	if snap := b.tick(s); len(snap.GPUs) != 2 || snap.GPUs[1].State != snapshot.GPULost {
		t.Fatalf("got %+v", snap.GPUs)
	}
	b.devices[1] = named
	var snap *snapshot.Snapshot
	for range 60 {
		snap = b.tick(s)
	}
	if len(snap.GPUs) != 2 || snap.GPUs[1].UUID != "GPU-1" || snap.GPUs[1].State != snapshot.GPUOK {
		t.Errorf("got %+v", snap.GPUs)
	}
	opens := b.opens
	for range 60 {
		b.tick(s)
	}
	if b.opens != opens {
		t.Errorf("the library is still opened again, %d times a minute", b.opens-opens)
	}
	if then, ok := s.History().At(snap.Time); !ok || len(then.GPUs) != 2 {
		t.Errorf("the past has %d GPUs", len(then.GPUs))
	}
}

// If a slow tick delays Suspend, the driver is closed right after the tick.
func TestSuspendDuringASlowTick(t *testing.T) {
	b := newBox(1)
	s := b.sampler(func(o *Options) { o.Interval, o.Deadline = MinInterval, time.Second })
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	<-s.Updates()
	gate := make(chan struct{})
	b.mu.Lock()
	b.hang["GPU-0"] = gate
	b.mu.Unlock()
	time.Sleep(2 * MinInterval) // now a tick waits at the gate
	s.Suspend()
	b.mu.Lock()
	delete(b.hang, "GPU-0")
	b.mu.Unlock()
	close(gate)
	isOpen := func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.open
	}
	for deadline := time.Now().Add(testTimeout); isOpen(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("suspended, and the driver is still open")
		}
	}
	s.Resume()
	for deadline := time.Now().Add(testTimeout); !isOpen(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("resumed, and the driver is not opened")
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// meeting is a driver whose Reads wait for each other.
type meeting struct {
	DeviceReader
	gpus sync.WaitGroup
}

func (m *meeting) Read(device nvml.Device) (nvml.Reading, error) {
	m.gpus.Done()
	m.gpus.Wait()
	return m.DeviceReader.Read(device)
}

func TestGPUsAreReadAtOnce(t *testing.T) {
	b := newBox(16)
	m := &meeting{DeviceReader: b}
	m.gpus.Add(16)
	snap := b.tick(b.sampler(func(o *Options) { o.Devices, o.Deadline = m, testTimeout }))
	for i := range snap.GPUs {
		if !snap.GPUs[i].Memory.Used.Known() {
			t.Errorf("GPU %d has no figures", i)
		}
	}
}

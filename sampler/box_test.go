package sampler

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
	"vramscope/metric"
	"vramscope/nvml"
	"vramscope/probe"
	"vramscope/sampler/snapshot"
)

// box is a hand-written fake of all three sources. A test changes the box between ticks, under mu if
// a call may be outstanding.
type box struct {
	mu        sync.Mutex
	openErr   error
	openHang  chan struct{} // Open waits until this channel is closed
	devices   []nvml.Device
	readings  map[string]nvml.Reading
	readErr   map[string]error
	hang      map[string]chan struct{} // by UUID: a Read of the GPU waits until its channel is closed
	processes map[int]process.Info
	answers   []probe.Answer
	held      []process.Allocation
	unasked   int
	opens     int
	closes    int
	open      bool
	version   string // of the driver; "" means 550.163.01
	now       time.Time
}

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// newBox makes a box of 80 GiB GPUs with one process of 10 GiB on each: pid 100 on GPU 0, 101 on GPU 1.
func newBox(gpus int) *box {
	b := &box{
		readings: map[string]nvml.Reading{}, readErr: map[string]error{},
		hang: map[string]chan struct{}{}, processes: map[int]process.Info{}, now: start,
	}
	for i := range gpus {
		uuid := fmt.Sprintf("GPU-%d", i)
		b.devices = append(b.devices, nvml.Device{Index: i, UUID: uuid, Name: "NVIDIA H100 80GB HBM3"})
		b.readings[uuid] = nvml.Reading{
			Memory: nvml.Memory{
				Total: measured(80 * quantity.GiB), Used: measured(10 * quantity.GiB),
				Free: measured(69 * quantity.GiB), Reserved: measured(quantity.GiB),
			},
			Sensors:   metric.Sensors{Utilization: quantity.From(50, quantity.Driver)},
			Processes: []nvml.Process{{PID: 100 + i, Type: nvml.Compute, Used: measured(10 * quantity.GiB)}},
		}
		b.processes[100+i] = info(100+i, 1000)
	}
	return b
}

func measured(b quantity.Bytes) quantity.Optional[quantity.Bytes] {
	return quantity.From(b, quantity.Driver)
}

func info(pid int, startTime uint64) process.Info {
	return process.Info{
		Identity: process.Identity{PID: pid, StartTime: startTime, Namespace: 1},
		User:     "alice", Name: "python", Command: []string{"python", "train.py"},
	}
}

func (b *box) Open() (nvml.Driver, []nvml.Device, error) {
	b.mu.Lock()
	gate := b.openHang
	b.mu.Unlock()
	if gate != nil {
		<-gate
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		return nvml.Driver{}, nil, errors.New("opened twice")
	}
	b.opens++
	if b.openErr != nil {
		return nvml.Driver{}, nil, b.openErr
	}
	b.open = true
	return nvml.Driver{Version: cmp.Or(b.version, "550.163.01"), CUDAVersion: "12.4"}, append([]nvml.Device(nil), b.devices...), nil
}

func (b *box) Read(d nvml.Device) (nvml.Reading, error) {
	b.mu.Lock()
	gate := b.hang[d.UUID]
	b.mu.Unlock()
	if gate != nil {
		<-gate
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.readErr[d.UUID]; err != nil {
		return nvml.Reading{XIDs: b.readings[d.UUID].XIDs}, err
	}
	r := b.readings[d.UUID]
	r.Device, r.Time = d, b.now
	r.Processes = append([]nvml.Process(nil), r.Processes...)
	return r, nil
}

func (b *box) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closes++
	b.open = false
	return nil
}

func (b *box) Unasked() int { return b.unasked }

func (b *box) Answers() []probe.Answer { return append([]probe.Answer(nil), b.answers...) }

func (b *box) Processes(_ time.Time, pids []int, found func(*process.Info)) {
	for _, pid := range pids {
		if p, ok := b.processes[pid]; ok {
			found(&p)
		}
	}
}

func (b *box) Allocations(time.Time, time.Duration) []process.Allocation { return b.held }

func (b *box) Alive(id process.Identity) bool {
	p, ok := b.processes[id.PID]
	return ok && p.Identity == id && !p.Ended
}

func (b *box) Host(time.Time) process.Host { return process.Host{Name: "h100-03", User: "bob"} }

// use sets the memory that a GPU and each of its processes use.
func (b *box) use(uuid string, bytes quantity.Bytes) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.readings[uuid]
	r.Memory.Used = measured(bytes)
	r.Processes = append([]nvml.Process(nil), r.Processes...)
	for i := range r.Processes {
		r.Processes[i].Used = measured(bytes)
	}
	b.readings[uuid] = r
}

func reported[T any](figure T) quantity.Optional[T] { return quantity.From(figure, quantity.Probe) }

// answer makes pid's probe report these stats for a GPU, now.
func (b *box) answer(pid int, uuid string, allocated, cached, fragmented, returnable quantity.Bytes) {
	reserved := allocated + cached + fragmented
	b.answers = []probe.Answer{{
		Process: b.processes[pid].Identity, At: b.now,
		Hello: probe.Hello{Runtimes: []probe.Runtime{{Name: "PyTorch", Version: "2.6.0"}}},
		Report: probe.Report{Devices: []probe.Device{{UUID: uuid, Allocators: []probe.Allocator{{
			Kind: "pytorch", Basis: probe.Stranded, Reserved: reported(reserved), Allocated: reported(allocated),
			Cached: reported(cached), Fragmented: reported(fragmented), Returnable: reported(returnable),
		}}}}},
	}}
}

// testTimeout is how long a test waits for an event that must happen, even on a loaded machine.
// hangTime is how long a test waits for a call that hangs on purpose.
const (
	testTimeout = time.Minute
	hangTime    = 50 * time.Millisecond
)

func (b *box) sampler(change ...func(*Options)) *Sampler {
	o := Options{Devices: b, Probes: b, Processes: b, Deadline: testTimeout}
	for _, f := range change {
		f(&o)
	}
	return New(o)
}

// tick lets a second pass and samples.
func (b *box) tick(s *Sampler) *snapshot.Snapshot {
	b.mu.Lock()
	b.now = b.now.Add(time.Second)
	now := b.now
	b.mu.Unlock()
	return s.Tick(now)
}

func bytesOf(t *testing.T, v snapshot.Bytes) quantity.Bytes {
	t.Helper()
	b, ok := v.Value()
	if !ok {
		t.Fatal("want a known value, got unknown")
	}
	return b
}

// migrate turns MIG on for the last GPU, with one instance, or turns it off.
func (b *box) migrate(enabled bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	uuid := b.devices[len(b.devices)-1].UUID
	r := b.readings[uuid]
	r.MIGEnabled, r.Instances = enabled, nil
	if enabled {
		r.Instances = []nvml.Instance{{
			ID: nvml.InstanceID{MIG: true, GPU: 1}, UUID: "MIG-1", Profile: "3g.40gb", Slices: 3,
			Memory: nvml.Memory{Total: measured(40 * gib), Used: r.Memory.Used},
		}}
	}
	b.readings[uuid] = r
}

// eventful changes the box at random before each tick, and returns the snapshots.
func eventful(b *box, s *Sampler, seed uint64, ticks int) (published []*snapshot.Snapshot) {
	random := rand.New(rand.NewPCG(seed, 2))
	for range ticks {
		uuid := b.devices[random.IntN(len(b.devices))].UUID
		b.use(uuid, quantity.Bytes(random.Int64N(int64(79*gib))))
		switch random.IntN(14) {
		case 0:
			b.readErr[uuid] = lost()
		case 1:
			clear(b.readErr)
		case 2:
			b.processes[101] = info(101, random.Uint64N(1e6)+1)
		case 3:
			b.answer(100, "GPU-0", quantity.Bytes(random.Int64N(int64(9*gib))), gib, 0, gib)
		case 4:
			b.migrate(random.IntN(2) == 0)
		}
		published = append(published, b.tick(s))
	}
	return published
}

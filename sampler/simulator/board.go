package simulator

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"vramscope/internal/quantity"
	"vramscope/nvml"
)

// The figures of an H100 SXM with 80 GB.
const (
	boardName      = "NVIDIA H100 80GB HBM3"
	boardTotal     = 81559 * quantity.MiB
	boardReserved  = 631 * quantity.MiB
	boardIdle      = 3 * quantity.MiB // used without any process
	powerLimit     = 700.0
	slowdown       = 92
	busyClock      = 1980
	idleClock      = 345
	memoryClock    = 2619
	roomCelsius    = 33.0
	celsiusPerWatt = 0.058
)

type board struct {
	device    nvml.Device
	frame     *frame
	instances []*instance
	tasks     []*task // ordered by pid
	loss      loss

	temperature float64 // °C
	power       float64 // W
	energy      float64 // J since the driver was loaded
	busy        float64 // 0 to 1, in the last step
	idleFor     time.Duration
	offset      float64 // °C, differs from GPU to GPU
	corrected   uint64  // memory errors corrected by ECC
}

type instance struct {
	id      nvml.InstanceID
	uuid    string
	profile string
	slices  int
	frame   *frame
}

func newBoard(index int) *board {
	// The PCI buses of the eight GPUs in such a machine.
	buses := [...]int{0x18, 0x2a, 0x3a, 0x5d, 0x9a, 0xab, 0xba, 0xdb}
	return &board{
		frame: &frame{total: boardTotal, reserved: boardReserved, used: boardIdle},
		device: nvml.Device{
			Index:               index,
			UUID:                "GPU-" + uuid(uint64(index)),
			Name:                boardName,
			PCIBusID:            fmt.Sprintf("%08X:%02X:00.0", index/len(buses), buses[index%len(buses)]),
			TemperatureSlowdown: quantity.From(slowdown, quantity.Driver),
			PowerLimit:          quantity.From(powerLimit, quantity.Driver),
		},
		offset: 1.5 * noise(7, uint64(index), 0),
		loss:   loss{at: never, until: never},
	}
}

// uuid makes an identifier that is the same in every simulated box, so that examples with a UUID
// work for every reader.
func uuid(n uint64) string {
	high, low := mix(11, n, 1), mix(11, n, 2)
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&0xffff_ffff_ffff)
}

func (g *board) partition(profiles ...instance) {
	for i := range profiles {
		p := profiles[i]
		p.uuid = "MIG-" + uuid(uint64(g.device.Index)<<8+uint64(i)+1)
		p.frame.whole = g.frame
		const idle = 12 * quantity.MiB // used without any process
		p.frame.Reserve(idle)
		g.instances = append(g.instances, &p)
	}
}

func (g *board) add(t *task) {
	at, _ := slices.BinarySearchFunc(g.tasks, t, byPID)
	g.tasks = slices.Insert(g.tasks, at, t)
}

func (g *board) remove(t *task) {
	g.tasks = slices.DeleteFunc(g.tasks, func(other *task) bool { return other == t })
}

// draw makes power follow the load within seconds, and temperature more slowly.
func (g *board) draw(seed uint64, now time.Duration) {
	const unloaded, loaded, full = 71.0, 119.0, 640.0 // W
	const inertia = 25.0                              // s

	g.busy = 0
	watts := unloaded
	for _, t := range g.tasks {
		g.busy += t.busy
		if t.role.kind&nvml.Compute != 0 {
			watts = loaded
		}
	}
	g.busy = min(g.busy, 1)
	if g.busy > 0 {
		g.idleFor = 0
	} else {
		g.idleFor += step
	}
	watts += (full - watts) * math.Pow(g.busy, 1.6)
	stream := uint64(g.device.Index)
	watts *= 1 + 0.012*noise(seed, stream<<8+1, uint64(now/step))
	g.power += (watts - g.power) * 0.4
	g.energy += g.power * step.Seconds()
	target := roomCelsius + g.offset + celsiusPerWatt*g.power
	g.temperature += (target - g.temperature) * step.Seconds() / inertia
}

// settle sets power and temperature as after a long constant load.
func (g *board) settle(seed uint64) {
	for range 40 {
		g.draw(seed, 0)
		g.temperature = roomCelsius + g.offset + celsiusPerWatt*g.power
	}
}

// loss says when a GPU falls off the bus, and when it is back.
type loss struct {
	at, until time.Duration
	lost      bool
	random    *rand.Rand
}

// newLoss makes the first loss early, so that a short demo shows it.
func newLoss(random *rand.Rand) loss {
	l := loss{random: random, at: span{30 * time.Second, 37 * time.Second}.draw(random)}
	l.until = l.at + span{55 * time.Second, 65 * time.Second}.draw(random)
	return l
}

// turn updates the loss to now and reports whether the GPU has just come back.
func (l *loss) turn(now time.Duration) (back bool) {
	if !l.lost {
		l.lost = now >= l.at
		return false
	}
	if now < l.until {
		return false
	}
	l.lost = false
	l.at = now + span{40 * time.Minute, 100 * time.Minute}.draw(l.random)
	l.until = l.at + span{30 * time.Second, 3 * time.Minute}.draw(l.random)
	return true
}

// turnLoss loses the GPU or brings it back. When the GPU comes back, its energy counter restarts,
// and its processes end.
func (b *Box) turnLoss(g *board, now time.Duration) {
	if !g.loss.turn(now) {
		return
	}
	g.energy = 0
	for _, s := range b.slots {
		if s.board == g && s.task != nil {
			b.end(s, now)
		}
	}
}

// frame is the frame buffer of a GPU or of a MIG instance, and implements allocator.Device.
type frame struct {
	total    quantity.Bytes
	reserved quantity.Bytes // by the driver
	used     quantity.Bytes // includes a little that no process uses
	whole    *frame         // for a MIG instance, the frame of its GPU; nil for a GPU
}

func (f *frame) capacity() quantity.Bytes { return f.total - f.reserved }

func (f *frame) Reserve(size quantity.Bytes) bool {
	if f.used+size > f.capacity() {
		return false
	}
	f.used += size
	if f.whole != nil {
		f.whole.used += size
	}
	return true
}

func (f *frame) Release(size quantity.Bytes) {
	f.used -= size
	if f.whole != nil {
		f.whole.used -= size
	}
}

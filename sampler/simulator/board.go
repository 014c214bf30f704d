package simulator

import (
	"cmp"
	"fmt"
	"math"
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
	boardIdle      = 3 * quantity.MiB // used with no process at all
	powerLimit     = 700.0
	slowdown       = 92
	busyClock      = 1980
	idleClock      = 345
	memoryClock    = 2619
	roomCelsius    = 33.0
	celsiusPerWatt = 0.058
)

// board is one GPU.
type board struct {
	device    nvml.Device
	frame     *frame
	instances []*instance
	tasks     []*task // by pid
	loss      loss

	temperature float64 // °C
	power       float64 // W
	busy        float64 // 0 to 1, in the last step
	idleFor     time.Duration
	offset      float64 // °C that this one is hotter than its neighbours
	corrected   uint64  // memory errors that ECC put right
	errorEvery  time.Duration
}

// instance is one MIG device.
type instance struct {
	id      nvml.InstanceID
	uuid    string
	profile string
	slices  int
	frame   *frame
}

func newBoard(index int) *board {
	// Where the eight sit in such a machine.
	buses := [...]int{0x18, 0x2a, 0x3a, 0x5d, 0x9a, 0xab, 0xba, 0xdb}
	b := &board{
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
	return b
}

// uuid makes an identifier that is the same in every simulated box, so that an
// example with one in it works for whoever copies it.
func uuid(n uint64) string {
	high, low := math.Float64bits(noise(11, n, 1)), math.Float64bits(noise(11, n, 2))
	high, low = high*0x9e3779b97f4a7c15, low*0x9e3779b97f4a7c15
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&0xffff_ffff_ffff)
}

// partition turns MIG on: the GPU's memory is cut into instances, and only
// they can be used.
func (b *board) partition(profiles ...instance) {
	for i := range profiles {
		p := profiles[i]
		p.uuid = "MIG-" + uuid(uint64(b.device.Index)<<8+uint64(i)+1)
		p.frame.whole = b.frame
		// Every instance uses a little, with or without a process.
		const idle = 12 * quantity.MiB
		p.frame.Reserve(idle)
		b.instances = append(b.instances, &p)
	}
}

func (b *board) frameOf(i *instance) *frame {
	if i != nil {
		return i.frame
	}
	return b.frame
}

func (b *board) add(t *task) {
	at, _ := slices.BinarySearchFunc(b.tasks, t, func(a, b *task) int {
		return cmp.Compare(a.identity.PID, b.identity.PID)
	})
	b.tasks = slices.Insert(b.tasks, at, t)
}

func (b *board) remove(t *task) {
	if at := slices.Index(b.tasks, t); at >= 0 {
		b.tasks = slices.Delete(b.tasks, at, at+1)
	}
}

// draw lets power and temperature follow the load: power at once, temperature
// as slowly as the heat sink lets it.
func (b *board) draw(seed uint64, now time.Duration) {
	const unloaded, loaded, full = 71.0, 119.0, 640.0 // W
	const inertia = 25.0                              // s

	b.busy = 0
	watts := unloaded
	for _, t := range b.tasks {
		b.busy += t.busy
		if t.role.kind&nvml.Compute != 0 {
			watts = loaded
		}
	}
	b.busy = min(b.busy, 1)
	if b.busy > 0 {
		b.idleFor = 0
	} else {
		b.idleFor += step
	}
	watts += (full - watts) * math.Pow(b.busy, 1.6)
	stream := uint64(b.device.Index)
	watts *= 1 + 0.012*noise(seed, stream<<8+1, uint64(now/step))
	b.power += (watts - b.power) * 0.4
	target := roomCelsius + b.offset + celsiusPerWatt*b.power
	b.temperature += (target - b.temperature) * step.Seconds() / inertia
	if b.errorEvery > 0 && now > 0 && now%b.errorEvery == 0 {
		b.corrected++
	}
}

// settle puts power and temperature where they would be after a long time.
func (b *board) settle(seed uint64) {
	for range 40 {
		b.draw(seed, 0)
		b.temperature = roomCelsius + b.offset + celsiusPerWatt*b.power
	}
}

package simulator

import (
	"math"
	"time"

	"vramscope/internal/process"
	"vramscope/internal/quantity"
)

const (
	hostName   = "h100-03"
	hostMemory = 2015 * gib
	hostUsed   = 205 * gib // by processes that are not simulated
)

// Processes looks up the pids at the time of the box's own clock. Foreign processes are not found.
func (b *Box) Processes(_ time.Time, pids []int, found func(*process.Info)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	for _, pid := range pids {
		if t := b.tasks[pid]; t != nil && !t.role.foreign {
			info := b.info(t)
			found(&info)
		}
	}
}

func (b *Box) Alive(id process.Identity) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	t := b.tasks[id.PID]
	return t != nil && !t.role.foreign && t.identity == id
}

func (b *Box) info(t *task) process.Info {
	r := t.role
	return process.Info{
		Identity: t.identity,
		Parent:   r.parent,
		UID:      quantity.From(r.user.uid, quantity.System),
		User:     r.user.name,
		Name:     r.comm,
		Command:  r.command,
		Started:  b.epoch.Add(process.SinceBoot(t.identity.StartTime) - uptime),
		Job:      t.job,
		CPU:      quantity.From(b.cpu(t), quantity.System),
		Memory:   quantity.From(b.resident(t), quantity.System),
	}
}

// cpu returns per cent of a core, with a little noise.
func (b *Box) cpu(t *task) float64 {
	cpu := t.role.cpu
	if cpu == 0 {
		return 0
	}
	cpu *= 1 + 0.04*noise(b.seed, t.stream()+2, uint64(b.at/time.Second))
	return math.Round(cpu*10) / 10
}

// resident returns host memory, which grows at the start.
func (b *Box) resident(t *task) quantity.Bytes {
	const loading = 25 * time.Second
	share := min(1, 0.1+float64(b.at-t.started)/float64(loading))
	share *= 1 + 0.006*wander(b.seed, t.stream()+3, b.at.Seconds(), 40)
	const page = 4 * quantity.KiB
	return quantity.Bytes(share*float64(t.role.host)) / page * page
}

func (b *Box) Host(_ time.Time) process.Host {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.advance()
	used := hostUsed
	for _, t := range b.inOrder() {
		used += b.resident(t)
	}
	load := 52 + 9*wander(b.seed, 5, b.at.Seconds(), 75)
	return process.Host{
		Name:        hostName,
		User:        "root",
		MemoryTotal: quantity.From(hostMemory, quantity.System),
		MemoryUsed:  quantity.From(used, quantity.System),
		Load:        quantity.From(math.Round(load*100)/100, quantity.System),
	}
}

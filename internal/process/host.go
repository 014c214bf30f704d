package process

import (
	"math"
	"os"
	"time"

	"github.com/prometheus/procfs"

	"vramscope/internal/bounded"
	"vramscope/internal/quantity"
)

// Host reads the machine from /proc, at most once in hostWindow.
func (t *Table) Host(now time.Time) Host {
	host := Host{Name: t.hostname, User: t.UserName(uint32(os.Geteuid()))}
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.hostAt).Abs() >= hostWindow || t.hostAt.IsZero() {
		t.hostAt = now
		t.readHost(&t.host)
	}
	host.MemoryTotal, host.MemoryUsed, host.Load = t.host.MemoryTotal, t.host.MemoryUsed, t.host.Load
	return host
}

// hostWindow is how long a reading of the machine is used: meminfo takes long to parse.
const hostWindow = 4900 * time.Millisecond

func (t *Table) readHost(host *Host) {
	*host = Host{}
	fs, err := procfs.NewFS(t.root)
	if err != nil {
		return
	}
	if memory, err := fs.Meminfo(); err == nil {
		host.MemoryTotal, host.MemoryUsed = memoryOf(memory)
	}
	if load, err := fs.LoadAvg(); err == nil && load.Load1 >= 0 && !math.IsInf(load.Load1, 1) {
		host.Load = quantity.From(load.Load1, quantity.System)
	}
}

// UserName returns the name of a user, the number if there is none, and "" while the
// directory service has not answered.
func (t *Table) UserName(uid uint32) string {
	if name, _ := t.users.name(uid); name != "" {
		return name
	}
	bounded.Ended(t.users.ask(uid), timeout)
	name, _ := t.users.name(uid)
	return name
}

// memoryOf counts memory as used unless it is available to programs, as droppable page cache is.
func memoryOf(memory procfs.Meminfo) (total, used quantity.Optional[quantity.Bytes]) {
	if memory.MemTotalBytes == nil || *memory.MemTotalBytes > math.MaxInt64 {
		return total, used
	}
	total = quantity.From(quantity.Bytes(*memory.MemTotalBytes), quantity.System)
	available := memory.MemAvailableBytes
	if available == nil || *available > *memory.MemTotalBytes {
		return total, used
	}
	return total, quantity.From(quantity.Bytes(*memory.MemTotalBytes-*available), quantity.System)
}

//go:build linux && cgo

package nvml

import (
	"math"
	"sync"
	"time"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"vramscope/internal/bounded"
	"vramscope/internal/panics"
	"vramscope/internal/quantity"
	"vramscope/metric"
)

// throughputInterval is the least time from one measurement of PCIe throughput to the next. The
// driver counts for 20 ms in each of the two calls
// (https://docs.nvidia.com/deploy/nvml-api, nvmlDeviceGetPcieThroughput).
const throughputInterval = 2 * time.Second

// throughputHold is how long a measurement is used if there is no newer one.
const throughputHold = 2*throughputInterval + time.Second

// throughputTimeout limits how long a Read after Complete waits for the first measurement.
const throughputTimeout = 500 * time.Millisecond

// throughput measures a GPU's PCIe throughput in parallel with the readings, which take the latest
// result and do not wait (but see Complete).
//
//	Read ── start, at most every 2 s ──→ measure (40 ms, own goroutine)
//	  ↑                                     │
//	  └─────────── received, sent ──────────┘
//
// A measurement counts as a call at the library's gate, so the library is not closed during it. If
// a measurement hangs in the driver, no further one is started.
type throughput struct {
	mu             sync.Mutex
	pending        chan struct{} // closed at the end of the measurement under way; nil while there is none
	started        time.Time
	measured       time.Time
	received, sent metric.Int
	panic          *panics.Caught // caught in a measurement; the next reading panics with it
}

// Complete is for programs that read once: Read then reads every metric, as with Details, and waits
// for the first PCIe throughput of a GPU, some 40 ms.
func (l *Library) Complete() { l.complete.Store(true) }

// readThroughput takes the latest throughput and starts the next measurement if it is due.
func (r *reading) readThroughput() {
	if !r.can(symPCIeThroughput) {
		return
	}
	t := &r.throughput
	t.mu.Lock()
	defer t.mu.Unlock()
	t.panic.Again()
	if t.pending == nil && (t.started.IsZero() || r.started.Sub(t.started) >= throughputInterval) && r.gate.enter() == nil {
		t.started, t.pending = r.started, make(chan struct{})
		go t.measure(r.handle, &r.gate, r.options.Now)
	}
	if pending := t.pending; pending != nil && r.complete.Load() && t.measured.IsZero() {
		t.mu.Unlock()
		bounded.Ended(pending, throughputTimeout)
		t.mu.Lock()
	}
	if age := r.options.Now().Sub(t.measured); age >= 0 && age < throughputHold {
		r.result.PCIeReceived, r.result.PCIeSent = t.received, t.sent
	}
}

// measure measures both directions, then leaves the gate that readThroughput has entered.
func (t *throughput) measure(handle gonvml.Device, gate *gate, now func() time.Time) {
	var received, sent metric.Int
	defer func() {
		caught := panics.Catch(recover())
		gate.leave()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.received, t.sent, t.measured, t.panic = received, sent, now(), caught
		close(t.pending)
		t.pending = nil
	}()
	received = bytesPerSecond(handle.GetPcieThroughput(gonvml.PCIE_UTIL_RX_BYTES))
	sent = bytesPerSecond(handle.GetPcieThroughput(gonvml.PCIE_UTIL_TX_BYTES))
}

// bytesPerSecond converts the driver's KB/s.
func bytesPerSecond(kilobytes uint32, ret gonvml.Return) metric.Int {
	if ret != gonvml.SUCCESS || kilobytes == math.MaxUint32 {
		return metric.Int{}
	}
	return quantity.From(int(kilobytes)*1000, quantity.Driver)
}

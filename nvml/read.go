//go:build linux && cgo

package nvml

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"vramscope/internal/quantity"
)

// gpu is a GPU of an open library, with the buffers of its readings.
type gpu struct {
	device  Device
	handle  gonvml.Device
	pointer unsafe.Pointer // the same handle, for direct calls
	absent  error          // why there is no handle; nil if there is one

	busy        atomic.Bool // a reading is under way; that reading owns the fields below
	readings    uint64
	bareVersion bool // memory v2 takes the bare version number
	buffer      []byte
	processes   []Process
	instances   []unsafe.Pointer // handles of Reading.Instances
	utilization utilization
	throughput  throughput
	rare        rare
	links       links
	lists       listsAsked
	events      gonvml.EventSet // nil until subscribed
	eventless   bool            // subscribing has failed and is not tried again
}

// reading is one Read under way.
type reading struct {
	*Library
	*gpu
	lib     *loaded
	started time.Time
	result  Reading
	err     *Error // the first error that ends the reading
	details bool   // read every metric: see Details
}

// Read takes one reading of a GPU. A field that the driver refuses is unknown. Read fails if an
// error makes further calls useless, or if the memory call fails in a way that is not a refusal.
// The Reading then has only Device and XIDs. Read fails with ErrUninitialized before Open, and with
// ErrBusy while Open, Close or another Read of the same GPU is under way.
func (l *Library) Read(device Device) (Reading, error) {
	result, err := l.read(device)
	if err != nil {
		return Reading{Device: device, XIDs: result.XIDs}, fmt.Errorf("nvml: read GPU %d: %w", device.Index, err)
	}
	return result, nil
}

func (l *Library) read(device Device) (Reading, error) {
	if err := l.gate.enter(); err != nil {
		return Reading{}, err
	}
	defer l.gate.leave()
	g := l.gpus[device.UUID]
	switch {
	case g == nil:
		return Reading{}, fmt.Errorf("%s is not in the driver's list: %w", device.UUID, ErrGPULost)
	case g.absent != nil:
		return Reading{}, g.absent
	case !g.busy.CompareAndSwap(false, true):
		return Reading{}, ErrBusy
	}
	defer g.busy.Store(false)
	r := reading{Library: l, gpu: g, lib: l.loaded.Load()}
	return r.run()
}

func (r *reading) run() (Reading, error) {
	r.started = r.options.Now()
	r.result.Device = r.device
	r.readEvents()
	r.details = r.Library.details.Load() || r.complete.Load()
	r.readRare()
	r.result.Memory = r.readMemory()
	r.result.Time = r.options.Now()
	r.readLoad()
	r.readThrottle()
	r.readDetails()
	r.readInstances()
	r.result.ProcessesFrom = r.options.Now()
	r.readProcesses()
	r.result.ProcessesTo = r.options.Now()
	r.readings++
	if r.err != nil {
		return Reading{XIDs: r.result.XIDs}, r.err
	}
	return r.result, nil
}

// can reports whether the reading goes on and the library has at least one of several calls.
func (r *reading) can(choices ...symbol) bool {
	return r.err == nil && r.lib.symbols.any(choices...)
}

// ok reports whether a call succeeded, and ends the reading after an answer that
// makes further calls useless.
func (r *reading) ok(call symbol, ret gonvml.Return) bool {
	if ret == gonvml.SUCCESS {
		return true
	}
	if r.err == nil && endsReading(ret) {
		r.err = newError(symbols[call].name, ret)
	}
	return false
}

// ask makes a call if the library has it, and reports whether the call succeeded.
func ask[T any](r *reading, call symbol, get func() (T, gonvml.Return)) (answer T, ok bool) {
	if !r.can(call) {
		return answer, false
	}
	answer, ret := get()
	return answer, r.ok(call, ret)
}

// readMemory reads the GPU's memory. Any failure that is not a refusal ends the reading.
func (r *reading) readMemory() Memory {
	memory, call, ret := r.askMemory(r.handle, r.pointer)
	if r.ok(call, ret) {
		return memory
	}
	if !refusesField(ret) && r.err == nil {
		r.err = newError(symbols[call].name, ret)
	}
	if r.err == nil && errors.Is(kinds[ret], ErrNotSupported) && !r.result.MIGEnabled && r.integrated() {
		return hostMemory(r.options.Proc)
	}
	return Memory{}
}

// askMemory reads the memory of a GPU or a MIG device with the newest call that answers.
func (r *reading) askMemory(handle gonvml.Device, pointer unsafe.Pointer) (Memory, symbol, gonvml.Return) {
	last, ret := symMemoryV2, gonvml.ERROR_FUNCTION_NOT_FOUND
	if r.can(symMemoryV2) {
		var answer memoryAnswer
		answer, ret = r.askMemoryV2(pointer)
		if memory := memoryOf(answer, quantity.Driver); ret == gonvml.SUCCESS && memory.Total.Known() {
			return memory, last, ret
		}
	}
	if endsReading(ret) || !r.can(symMemory) {
		if ret == gonvml.SUCCESS {
			ret = gonvml.ERROR_NOT_SUPPORTED
		}
		return Memory{}, last, ret
	}
	last = symMemory
	var answer gonvml.Memory
	answer, ret = handle.GetMemoryInfo()
	memory := memoryOf(memoryAnswer{total: answer.Total, free: answer.Free, used: answer.Used}, quantity.DriverV1)
	if ret == gonvml.SUCCESS && !memory.Total.Known() {
		// A GPU without memory of its own may report success and no figures.
		ret = gonvml.ERROR_NOT_SUPPORTED
	}
	return memory, last, ret
}

// askMemoryV2 calls memory v2, and remembers which form of the version field the driver takes.
func (r *reading) askMemoryV2(pointer unsafe.Pointer) (memoryAnswer, gonvml.Return) {
	answer, ret := r.lib.memoryV2(r.lib.memoryCall, pointer, r.bareVersion)
	if ret == gonvml.ERROR_ARGUMENT_VERSION_MISMATCH || ret == gonvml.ERROR_INVALID_ARGUMENT {
		other, again := r.lib.memoryV2(r.lib.memoryCall, pointer, !r.bareVersion)
		if again == gonvml.SUCCESS {
			r.bareVersion = !r.bareVersion
			return other, again
		}
	}
	return answer, ret
}

// integrated reports whether a GPU that refuses the memory call has no memory of its own: its name
// says so, or it also lacks BAR1, the window through which a host reaches a GPU's memory. Source:
// nvidia-smi -q of a GB10, https://github.com/hashicorp/nomad-device-nvidia/pull/87
func (r *reading) integrated() bool {
	if namedIntegrated(r.device.Name) {
		return true
	}
	if !r.can(symBAR1) {
		return false
	}
	_, ret := r.handle.GetBAR1MemoryInfo()
	return !r.ok(symBAR1, ret) && errors.Is(kinds[ret], ErrNotSupported)
}

var errNotAsked = errors.New("not asked")

func (r *reading) readProcesses() {
	if r.alone.Load() {
		r.result.ProcessesError = errNotAsked
		return
	}
	if r.err != nil {
		return
	}
	list, err := r.askProcesses()
	if err != nil || r.err != nil {
		r.result.ProcessesError = err
		return
	}
	list = mergeProcesses(list, limitOf(r.result.Memory))
	r.readUtilization(list)
	r.processes = list[:0]
	r.result.Processes = slices.Clone(list)
}

//go:build linux && cgo

package nvml

import (
	"slices"
	"time"
	"unsafe"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"vramscope/internal/quantity"
)

// askProcesses reads the process lists and does not merge them. Under MIG, the GPU's own handle lists the processes
// of all instances only to privileged users. For other users, askProcesses reads the lists of each instance.
func (r *reading) askProcesses() ([]Process, error) {
	list, err := r.askLists(r.processes[:0], r.pointer, true)
	if err == nil || !r.result.MIGEnabled || r.err != nil {
		return list, err
	}
	list = list[:0]
	for n, pointer := range r.instances {
		from := len(list)
		var failed error
		if list, failed = r.askLists(list, pointer, false); failed != nil {
			return list[:0], failed
		}
		for i := from; i < len(list); i++ {
			list[i].Instance = r.result.Instances[n].ID
		}
	}
	if len(r.instances) == 0 {
		return list, err
	}
	return list, nil
}

// listsAsked decides when empty graphics and MPS lists are read again.
type listsAsked struct {
	at          time.Time      // when all lists were last read
	compute     int            // processes in the compute list at that time
	unexplained quantity.Bytes // used memory that the compute list did not account for, in MiB
	empty       [maxLists]bool // the list was empty
}

const maxLists = 3

// askLists appends the processes of the compute, graphics and MPS lists. The last two may fail, because many GPUs
// refuse them. If one of the last two is empty for a whole GPU, it is skipped until the compute list grows or shrinks,
// the unexplained used memory changes, or rareInterval has passed.
func (r *reading) askLists(list []Process, device unsafe.Pointer, whole bool) ([]Process, error) {
	if len(r.lib.lists) == 0 || r.lib.lists[0].kind != Compute {
		return list, newError(symbols[symComputeV1].name, gonvml.ERROR_FUNCTION_NOT_FOUND)
	}
	asked := &r.lists
	for i, source := range r.lib.lists {
		if r.err != nil {
			return list[:0], r.err
		}
		if whole && i == 1 {
			unexplained := r.unexplained(list)
			if due(r.started, asked.at) || len(list) != asked.compute || unexplained != asked.unexplained {
				*asked = listsAsked{at: r.started, compute: len(list), unexplained: unexplained}
			}
		}
		if whole && asked.empty[i] {
			continue
		}
		appended, ret := r.askList(list, source, device)
		if !r.ok(source.symbol, ret) && source.kind == Compute {
			return list[:0], newError(symbols[source.symbol].name, ret)
		}
		asked.empty[i] = whole && source.kind != Compute && len(appended) == len(list)
		list = appended
	}
	return list, nil
}

// unexplained returns the used memory that a list does not account for, in MiB.
func (r *reading) unexplained(list []Process) quantity.Bytes {
	used := r.result.Memory.Used.Or(0)
	for i := range list {
		used -= list[i].Used.Or(0)
	}
	return used / quantity.MiB
}

func (r *reading) askList(list []Process, source processList, device unsafe.Pointer) ([]Process, gonvml.Return) {
	count, ret := r.fill(strideDetail, pattern, func(capacity int) (int, gonvml.Return) {
		return r.lib.list(source.call, device, r.buffer, capacity)
	})
	if ret != gonvml.SUCCESS {
		return list, ret
	}
	size := stride(r.buffer, count, source.promised)
	return appendProcesses(list, r.buffer, count, size, source.kind, r.result.MIGEnabled), ret
}

// fill makes call fill the buffer with structs of the given size, and returns their number. Each byte of the buffer is
// mark before the call. If the driver asks for more room, the buffer grows, for at most maxTries calls.
func (r *reading) fill(size int, mark byte, call func(capacity int) (int, gonvml.Return)) (count int, ret gonvml.Return) {
	capacity := max(len(r.buffer)/size, firstProcesses)
	for range maxTries {
		r.buffer = slices.Grow(r.buffer[:0], capacity*size)[:capacity*size]
		for i := range r.buffer {
			r.buffer[i] = mark
		}
		if count, ret = call(capacity); ret != gonvml.ERROR_INSUFFICIENT_SIZE {
			return min(count, capacity), ret
		}
		next, more := nextCapacity(capacity, count)
		if !more {
			break
		}
		capacity = next
	}
	return 0, gonvml.ERROR_INSUFFICIENT_SIZE
}

// readUtilization reads how busy each process kept the GPU, which the driver does not report under MIG.
func (r *reading) readUtilization(list []Process) {
	if len(list) == 0 || r.result.MIGEnabled || !r.can(symProcessUtilization) {
		return
	}
	now := r.options.Now()
	count, ret := r.fill(utilizationStride, 0, func(int) (int, gonvml.Return) {
		return r.lib.samples(r.lib.samplesCall, r.pointer, r.buffer, r.utilization.since)
	})
	switch ret {
	case gonvml.ERROR_NOT_FOUND:
		count = 0 // no sample is newer than those already seen
	case gonvml.SUCCESS:
	default:
		r.ok(symProcessUtilization, ret)
		return
	}
	r.utilization.add(r.buffer, count, now)
	r.utilization.assign(list, r.result.Utilization)
}

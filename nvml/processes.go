//go:build linux && cgo

package nvml

import (
	"slices"
	"unsafe"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

// askProcesses reads the process lists, unmerged. Under MIG the GPU's own handle
// lists the processes of all instances to privileged users only; others read the
// list of each instance.
func (r *reading) askProcesses() ([]Process, error) {
	list, err := r.askLists(r.processes[:0], r.pointer)
	if err == nil || !r.result.MIGEnabled || r.err != nil {
		return list, err
	}
	list = list[:0]
	for n, pointer := range r.instances {
		from := len(list)
		var failed error
		if list, failed = r.askLists(list, pointer); failed != nil {
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

// askLists appends the processes of the compute, graphics and MPS lists. It fails
// if the compute list does; many GPUs refuse the others.
func (r *reading) askLists(list []Process, device unsafe.Pointer) ([]Process, error) {
	if len(r.lib.lists) == 0 || r.lib.lists[0].kind != Compute {
		return list, newError(symbols[symComputeV1].name, gonvml.ERROR_FUNCTION_NOT_FOUND)
	}
	for _, source := range r.lib.lists {
		if r.err != nil {
			return list[:0], r.err
		}
		appended, ret := r.askList(list, source, device)
		if !r.ok(source.symbol, ret) && source.kind == Compute {
			return list[:0], newError(symbols[source.symbol].name, ret)
		}
		list = appended
	}
	return list, nil
}

// askList appends the processes of one list. For a driver that asks for more room
// the buffer grows a limited number of times.
func (r *reading) askList(list []Process, source processList, device unsafe.Pointer) ([]Process, gonvml.Return) {
	capacity := max(len(r.buffer)/strideDetail, firstProcesses)
	for range mostTries {
		r.buffer = slices.Grow(r.buffer[:0], capacity*strideDetail)[:capacity*strideDetail]
		fillPattern(r.buffer)
		count, ret := r.lib.list(source.call, device, r.buffer, capacity)
		if ret == gonvml.SUCCESS {
			count = min(count, capacity)
			size := stride(r.buffer, count, source.promised)
			return appendProcesses(list, r.buffer, count, size, source.kind, r.result.MIGEnabled), ret
		}
		if ret != gonvml.ERROR_INSUFFICIENT_SIZE {
			return list, ret
		}
		next, more := nextCapacity(capacity, count)
		if !more {
			break
		}
		capacity = next
	}
	return list, gonvml.ERROR_INSUFFICIENT_SIZE
}

// readUtilization reads how busy each process kept the SMs, which the driver does
// not report under MIG.
func (r *reading) readUtilization(list []Process) {
	if len(list) == 0 || r.result.MIGEnabled || !r.can(symProcessUtilization) {
		return
	}
	now := r.options.Now()
	capacity := max(len(r.buffer)/utilizationStride, firstProcesses)
	for range mostTries {
		r.buffer = slices.Grow(r.buffer[:0], capacity*utilizationStride)[:capacity*utilizationStride]
		clear(r.buffer)
		count, ret := r.lib.samples(r.lib.samplesCall, r.pointer, r.buffer, r.utilization.since)
		switch ret {
		case gonvml.SUCCESS, gonvml.ERROR_NOT_FOUND:
			if ret == gonvml.ERROR_NOT_FOUND {
				count = 0 // no sample is newer than those already seen
			}
			r.utilization.add(r.buffer, count, now)
			r.utilization.assign(list, r.result.Utilization)
			return
		case gonvml.ERROR_INSUFFICIENT_SIZE:
			next, more := nextCapacity(capacity, count)
			if !more {
				return
			}
			capacity = next
		default:
			r.ok(symProcessUtilization, ret)
			return
		}
	}
}

package nvml

import (
	"cmp"
	"encoding/binary"
	"math"

	"vramscope/internal/quantity"
	"vramscope/internal/sorted"
)

// A process list is an array of C structs whose size the driver chooses, not the caller:
//
//	16 bytes  pid, memory                            first calls
//	24 bytes  pid, memory, GPU and compute instance  _v2 and _v3
//	32 bytes  … and protected memory                 _v3 of the first 535 drivers, later removed
//
// Some drivers write another size than the version of the call promises
// (https://github.com/NVIDIA/go-nvml/issues/75, https://github.com/XuehaiPan/nvitop/pull/79). So the buffer
// has room for the largest size and is filled with a pattern before the call. The size follows from how
// much of the pattern the driver has overwritten.
const (
	strideV1     = 16
	strideV2     = 24
	strideDetail = 32
	pattern      = 0xA5
)

const (
	// firstProcesses is enough for nearly every GPU, so that its list takes one call.
	firstProcesses = 64
	// maxProcesses limits the buffer if a driver keeps asking for more.
	maxProcesses = 1 << 14
	// maxTries limits the calls for one answer that outgrows its buffer.
	maxTries = 5
)

// noInstance is the instance number of a process that is in no instance.
const noInstance = math.MaxUint32

// nextCapacity returns the capacity for the try after INSUFFICIENT_SIZE, false if the last capacity was the
// largest. Up to maxProcesses, the new capacity is more than was asked for, because the list may grow, and at
// least twice the last, because some drivers ask for too little.
func nextCapacity(capacity, asked int) (int, bool) {
	if capacity >= maxProcesses {
		return 0, false
	}
	asked = min(max(asked, 0), maxProcesses)
	return min(max(2*capacity, asked+asked/4+8), maxProcesses), true
}

// stride returns the size of the count structs that the driver has written into a buffer filled with the
// pattern. If the written part fits no known size, stride returns promised, the size that the version of
// the call promises.
func stride(buffer []byte, count, promised int) int {
	if count <= 0 || count*strideDetail > len(buffer) {
		return promised
	}
	written := len(buffer)
	for written > 0 && buffer[written-1] == pattern {
		written--
	}
	for _, size := range []int{strideV1, strideV2, strideDetail} {
		// The driver's last bytes may equal the pattern, so a size fits if any of its last 8 bytes has changed.
		if written <= count*size && written > count*size-8 {
			return size
		}
	}
	return promised
}

// appendProcesses decodes count structs. It uses instance numbers only in MIG mode: otherwise drivers leave
// marks or zeros there. It leaves out entries without a valid pid; their memory shows as unattributed.
func appendProcesses(list []Process, buffer []byte, count, size int, kind ProcessType, mig bool) []Process {
	for i := range min(count, len(buffer)/size) {
		entry := buffer[i*size : (i+1)*size]
		pid := binary.NativeEndian.Uint32(entry)
		if pid == 0 || pid > math.MaxInt32 {
			continue
		}
		process := Process{
			PID:  int(pid),
			Type: kind,
			Used: figure(binary.NativeEndian.Uint64(entry[8:]), largestMemory, quantity.Driver),
		}
		if mig && size >= strideV2 {
			process.Instance = instanceID(binary.NativeEndian.Uint32(entry[16:]), binary.NativeEndian.Uint32(entry[20:]))
		}
		list = append(list, process)
	}
	return list
}

// instanceID returns the instance with these numbers, the zero InstanceID if gpu is noInstance.
func instanceID(gpu, compute uint32) InstanceID {
	if gpu == noInstance {
		return InstanceID{}
	}
	if compute == noInstance {
		compute = 0
	}
	return InstanceID{MIG: true, GPU: gpu, Compute: compute}
}

// mergeProcesses merges overlapping lists in place into one entry for each (pid, instance). An entry has
// the types of all its duplicates, and the largest known memory, because each list has the memory of the
// whole process. Memory above limit becomes unknown. The result is sorted by pid and instance.
func mergeProcesses(list []Process, limit uint64) []Process {
	sorted.Stable(list, func(a, b Process) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), a.Instance.Compare(b.Instance))
	})
	merged := list[:0]
	for _, process := range list {
		if used, ok := process.Used.Value(); ok && uint64(used) > limit {
			process.Used = quantity.Unknown[quantity.Bytes]()
		}
		last := len(merged) - 1
		if last < 0 || merged[last].PID != process.PID || merged[last].Instance != process.Instance {
			merged = append(merged, process)
			continue
		}
		merged[last].Type |= process.Type
		used, ok := process.Used.Value()
		if ok && (!merged[last].Used.Known() || used > merged[last].Used.Or(0)) {
			merged[last].Used = process.Used
		}
	}
	return merged
}

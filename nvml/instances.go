//go:build linux && cgo

package nvml

import (
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"vramscope/internal/text"
)

// Larger counts are nonsense: the hardware has at most 7 of each.
const (
	maxInstances = 64
	maxSlices    = 64
)

// readInstances reads the MIG devices in each reading, because administrators create and destroy them while
// the GPU runs. It leaves out an instance whose numbers cannot be read: no process can be assigned to such an instance.
func (r *reading) readInstances() {
	r.instances = r.instances[:0]
	if !r.result.MIGEnabled || !r.can(symMIGHandle) || !r.can(symMIGCount) || !r.can(symGPUInstance) || !r.can(symComputeInstance) {
		return
	}
	total, ret := r.handle.GetMaxMigDeviceCount()
	if !r.ok(symMIGCount, ret) {
		return
	}
	for index := range min(total, maxInstances) {
		handle, ret := r.handle.GetMigDeviceHandleByIndex(index)
		if r.ok(symMIGHandle, ret) {
			r.readInstance(handle, total)
		}
		if r.err != nil {
			return
		}
	}
}

// readInstance reads a MIG device of a GPU that can have whole of them: one for each GPU slice.
func (r *reading) readInstance(handle gonvml.Device, whole int) {
	pointer, err := devicePointer(handle)
	if err != nil {
		return
	}
	gpu, ret := handle.GetGpuInstanceId()
	if !r.ok(symGPUInstance, ret) {
		return
	}
	compute, ret := handle.GetComputeInstanceId()
	if !r.ok(symComputeInstance, ret) {
		return
	}
	result := Instance{ID: instanceID(uint32(gpu), uint32(compute)), Whole: whole}
	if uuid, ret := handle.GetUUID(); r.ok(symUUID, ret) {
		result.UUID = text.Strip(uuid)
	}
	var memoryMiB uint64
	if r.can(symAttributes, symAttributesV1) {
		if attributes, ret := handle.GetAttributes(); r.ok(symAttributes, ret) {
			result.Slices = intFigure(attributes.GpuInstanceSliceCount, maxSlices).Or(0)
			memoryMiB = attributes.MemorySizeMB
		}
	}
	name, ret := handle.GetName()
	if !r.ok(symName, ret) {
		name = ""
	}
	result.Profile = profile(text.Strip(name), result.Slices, memoryMiB)
	memory, call, answered := r.askMemory(handle, pointer)
	if r.ok(call, answered) {
		result.Memory = memory
	}
	r.instances = append(r.instances, pointer)
	r.result.Instances = append(r.result.Instances, result)
}

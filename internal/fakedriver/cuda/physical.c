/* Memory of a GPU without an address: cuMemCreate. It is freed when neither a handle nor a
 * mapping of it is left. Another process can import it as a file descriptor.
 */
#define _GNU_SOURCE
#include "virtual.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct physical *physical_of(CUmemGenericAllocationHandle handle)
{
	struct physical *physical = (struct physical *)(uintptr_t)handle;
	return object_is(physical, PHYSICAL) ? physical : NULL;
}

void physical_let_go(struct physical *physical)
{
	if (physical->handles > 0 || physical->mappings > 0)
		return;
	if (physical->device)
		device_give(physical->device, physical->charged);
	object_remove(&physical->object);
	free(physical);
}

/* The device for the memory, NULL for host memory. */
static CUresult location(const CUmemAllocationProp *properties, struct device **device)
{
	*device = NULL;
	if (!properties || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	switch (properties->location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		if (properties->location.id < 0 || properties->location.id >= own.device_count)
			return CUDA_ERROR_INVALID_DEVICE;
		*device = &own.devices[properties->location.id];
		return CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return CUDA_SUCCESS;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags option)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, "cuMemGetAllocationGranularity", INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = location(properties, &device);
	if (answer == CUDA_SUCCESS && (!granularity || (unsigned int)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		*granularity = PAGE;
	return call_end(&call, answer);
}

static struct physical *new_physical(const CUmemAllocationProp *properties, struct device *device, number size)
{
	struct physical *physical = calloc(1, sizeof *physical);
	if (!physical)
		return NULL;
	physical->properties = *properties;
	physical->device = device;
	physical->size = size;
	physical->handles = 1;
	object_add(&physical->object, PHYSICAL);
	return physical;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *properties,
                     unsigned long long flags)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, "cuMemCreate", INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = location(properties, &device);
	if (answer == CUDA_SUCCESS && device)
		answer = call_device(&call, device->ordinal, &device);
	if (answer == CUDA_SUCCESS && (!handle || flags || size == 0 || size % PAGE))
		answer = CUDA_ERROR_INVALID_VALUE;
	/* Fabric handles, which PyTorch asks for first, need NVLink between machines. */
	if (answer == CUDA_SUCCESS && properties->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		answer = CUDA_ERROR_NOT_SUPPORTED;
	if (answer == CUDA_SUCCESS && device && device_lost(call.state, device))
		answer = CUDA_ERROR_DEVICE_UNAVAILABLE;
	if (answer == CUDA_SUCCESS && (size > LARGEST || (device && !device_take(&call, device, size))))
		answer = CUDA_ERROR_OUT_OF_MEMORY;
	if (answer == CUDA_SUCCESS) {
		struct physical *made = new_physical(properties, device, size);
		if (made) {
			made->charged = size;
			*handle = (CUmemGenericAllocationHandle)(uintptr_t)made;
		} else {
			if (device)
				device_give(device, size);
			answer = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	return call_end(&call, answer);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemRelease", INITIALISED);
	struct physical *physical = answer == CUDA_SUCCESS ? physical_of(handle) : NULL;
	if (answer == CUDA_SUCCESS && (!physical || physical->handles == 0))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		physical->handles--;
		physical_let_go(physical);
	}
	return call_end(&call, answer);
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *properties, CUmemGenericAllocationHandle handle)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemGetAllocationPropertiesFromHandle", INITIALISED);
	const struct physical *physical = answer == CUDA_SUCCESS ? physical_of(handle) : NULL;
	if (answer == CUDA_SUCCESS && (!physical || !properties))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		*properties = physical->properties;
	return call_end(&call, answer);
}

/* The contents of the file in shared memory that stands for exported memory. */
struct exported {
	number magic, size, key;
	CUmemAllocationProp properties;
};
#define EXPORTED_MAGIC 0x657870765f616c6cULL

CUresult cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemExportToShareableHandle", INITIALISED);
	const struct physical *physical = answer == CUDA_SUCCESS ? physical_of(handle) : NULL;
	if (answer == CUDA_SUCCESS && (!physical || !shareable || flags ||
	                               type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	                               !(physical->properties.requestedHandleTypes & type)))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		struct exported exported = { .magic = EXPORTED_MAGIC, .size = physical->size,
			.key = physical->device ? physical->device->key : 0, .properties = physical->properties };
		int file = memfd_create("cuda-shared", MFD_CLOEXEC);
		if (file < 0 || write(file, &exported, sizeof exported) != sizeof exported) {
			if (file >= 0)
				close(file);
			answer = CUDA_ERROR_OPERATING_SYSTEM;
		} else {
			*(int *)shareable = file;
		}
	}
	return call_end(&call, answer);
}

/* Imports another process's memory, which is charged only to that process. */
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shareable,
                                        CUmemAllocationHandleType type)
{
	struct call call;
	struct exported exported;
	CUresult answer = call_begin(&call, "cuMemImportFromShareableHandle", INITIALISED);
	if (answer == CUDA_SUCCESS && (!handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	                               pread((int)(intptr_t)shareable, &exported, sizeof exported, 0) != sizeof exported ||
	                               exported.magic != EXPORTED_MAGIC))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		struct device *device = NULL;
		for (int i = 0; i < own.device_count; i++)
			if (own.devices[i].key == exported.key)
				device = &own.devices[i];
		struct physical *made = new_physical(&exported.properties, device, exported.size);
		if (made)
			*handle = (CUmemGenericAllocationHandle)(uintptr_t)made;
		else
			answer = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return call_end(&call, answer);
}

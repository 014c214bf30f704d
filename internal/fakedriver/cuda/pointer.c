/* Attributes of addresses, and sharing memory with other processes. */
#include "driver.h"

#include <stdint.h>
#include <string.h>
#include <unistd.h>

int is_device_address(CUdeviceptr address)
{
	return address >= FIRST_ADDRESS && address < FIRST_ADDRESS + ADDRESSES;
}

int device_range(CUdeviceptr address, number size)
{
	const struct allocation *allocation = allocation_around(address);
	if (!allocation || size > allocation->size - (address - allocation->node.key))
		return 0;
	return allocation->kind != RESERVED || mapped_range(allocation, address, size);
}

static int is_host(const struct allocation *allocation)
{
	return allocation->kind == HOST || allocation->kind == REGISTERED;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr pointer)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemGetAddressRange_v2", CURRENT | FAST);
	if (answer == CUDA_SUCCESS) {
		const struct allocation *allocation = allocation_around(pointer);
		if (!allocation || is_host(allocation)) {
			answer = CUDA_ERROR_NOT_FOUND;
		} else {
			if (base)
				*base = allocation->node.key;
			if (size)
				*size = (size_t)allocation->size;
		}
	}
	return call_end(&call, answer);
}

static CUresult attribute_of(const struct allocation *allocation, CUpointer_attribute attribute, CUdeviceptr pointer,
                             void *data)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT: *(CUcontext *)data = allocation->context; break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)data = is_host(allocation) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)data = pointer; break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED: *(int *)data = allocation->kind == MANAGED; break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = allocation->device ? allocation->device->ordinal : 0;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: *(CUdeviceptr *)data = allocation->node.key; break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE: *(size_t *)data = (size_t)allocation->size; break;
	case CU_POINTER_ATTRIBUTE_MAPPED: *(int *)data = device_range(pointer, 1); break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: *(CUmemoryPool *)data = allocation->pool; break;
	default: return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuPointerGetAttribute", INITIALISED | FAST);
	if (answer == CUDA_SUCCESS) {
		const struct allocation *allocation = allocation_around(pointer);
		answer = allocation && data ? attribute_of(allocation, attribute, pointer, data) : CUDA_ERROR_INVALID_VALUE;
	}
	return call_end(&call, answer);
}

/* The contents of a CUipcMemHandle. */
struct shared {
	number magic, address, size, key;
	pid_t pid;
};
#define SHARED_MAGIC 0x7672616d73636f70ULL

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr pointer)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuIpcGetMemHandle", CURRENT);
	if (answer == CUDA_SUCCESS) {
		const struct allocation *allocation = allocation_around(pointer);
		if (!handle || !allocation || (allocation->kind != LINEAR && allocation->kind != SMALL)) {
			answer = CUDA_ERROR_INVALID_VALUE;
		} else {
			struct shared shared = {
				.magic = SHARED_MAGIC, .address = allocation->node.key, .size = allocation->size,
				.key = allocation->device->key, .pid = getpid(),
			};
			memset(handle, 0, sizeof *handle);
			memcpy(handle, &shared, sizeof shared);
		}
	}
	return call_end(&call, answer);
}

/* The memory is charged only to the process that exported it. */
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *pointer, CUipcMemHandle handle, unsigned int flags)
{
	struct call call;
	(void)flags;
	struct shared shared;
	memcpy(&shared, &handle, sizeof shared);
	CUresult answer = call_begin(&call, "cuIpcOpenMemHandle_v2", CURRENT);
	if (answer == CUDA_SUCCESS && (!pointer || shared.magic != SHARED_MAGIC || !shared.size || shared.size > LARGEST))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && (shared.pid == getpid() || shared.key != call.device->key))
		answer = CUDA_ERROR_INVALID_CONTEXT;
	if (answer == CUDA_SUCCESS) {
		struct block *block = space_take(&own.addresses, shared.size, PAGE);
		struct allocation *made = block ? allocation_add(block->address, shared.size, IMPORTED, call.device) : NULL;
		if (made) {
			made->context = call.context;
			made->block = block;
			*pointer = block->address;
		} else {
			if (block)
				space_give(&own.addresses, block);
			answer = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	return call_end(&call, answer);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr pointer)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuIpcCloseMemHandle", CURRENT);
	if (answer == CUDA_SUCCESS) {
		struct allocation *allocation = allocation_find(pointer);
		if (allocation && allocation->kind == IMPORTED) {
			space_give(&own.addresses, allocation->block);
			allocation_forget(allocation);
		} else {
			answer = CUDA_ERROR_INVALID_VALUE;
		}
	}
	return call_end(&call, answer);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *pointer, void *host, unsigned int flags)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemHostGetDevicePointer_v2", CURRENT);
	if (answer == CUDA_SUCCESS) {
		const struct allocation *allocation = allocation_around((CUdeviceptr)(uintptr_t)host);
		if (!pointer || flags || !allocation || !is_host(allocation))
			answer = CUDA_ERROR_INVALID_VALUE;
		else
			*pointer = (CUdeviceptr)(uintptr_t)host; /* the same address: there is one address space */
	}
	return call_end(&call, answer);
}

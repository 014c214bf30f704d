/*
 * Allocations by address. Large allocations take pages of the GPU, and small ones
 * share pages, as in the real driver. Managed and host memory takes nothing of the
 * GPU, because no kernel ever touches it.
 */
#include "driver.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

struct allocation *allocation_find(CUdeviceptr address)
{
	struct node *node = tree_from(own.allocations, address, 0);
	return node && node->key == address ? (struct allocation *)node : NULL;
}

struct allocation *allocation_around(CUdeviceptr address)
{
	struct allocation *allocation = (struct allocation *)tree_upto(own.allocations, address, 0);
	return allocation && address - allocation->node.key < allocation->size ? allocation : NULL;
}

struct allocation *allocation_add(number address, number size, enum allocation_kind kind, struct device *device)
{
	struct allocation *allocation = calloc(1, sizeof *allocation);
	if (!allocation)
		return NULL;
	allocation->node.key = address;
	allocation->size = size;
	allocation->kind = kind;
	allocation->device = device;
	tree_insert(&own.allocations, &allocation->node);
	return allocation;
}

void allocation_forget(struct allocation *allocation)
{
	tree_remove(&own.allocations, &allocation->node);
	free(allocation);
}

static CUresult take_pages(const struct call *call, number size, CUdeviceptr *pointer)
{
	number charged = round_up(size, PAGE);
	if (!device_take(call, call->device, charged))
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct block *block = space_take(&own.addresses, charged, PAGE);
	struct allocation *made = block ? allocation_add(block->address, size, LINEAR, call->device) : NULL;
	if (!made) {
		if (block)
			space_give(&own.addresses, block);
		device_give(call->device, charged);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	made->context = call->context;
	made->block = block;
	made->charged = charged;
	*pointer = block->address;
	return CUDA_SUCCESS;
}

static CUresult share_page(const struct call *call, number size, CUdeviceptr *pointer)
{
	struct arena *small = &call->context->small;
	struct block *block = arena_take(call, small, size);
	if (!block)
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct allocation *made = allocation_add(block->address, size, SMALL, call->device);
	if (!made) {
		arena_give(small, block);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	made->context = call->context;
	made->block = block;
	*pointer = block->address;
	return CUDA_SUCCESS;
}

static CUresult allocate(const struct call *call, number size, CUdeviceptr *pointer)
{
	if (!pointer || size == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (size > LARGEST)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return size > PAGE / 2 ? take_pages(call, size, pointer) : share_page(call, size, pointer);
}

static void release(struct allocation *allocation)
{
	switch (allocation->kind) {
	case LINEAR:
	case IMPORTED:
		space_give(&own.addresses, allocation->block);
		device_give(allocation->device, allocation->charged);
		break;
	case SMALL:
		arena_give(&allocation->context->small, allocation->block);
		arena_trim(&allocation->context->small, 0);
		break;
	case MANAGED:
	case HOST: munmap((void *)(uintptr_t)allocation->node.key, (size_t)allocation->size); break;
	case REGISTERED: break; /* the program frees this memory */
	case POOLED:
	case RESERVED: return; /* pool.c and virtual.c free these */
	}
	allocation_forget(allocation);
}

void allocations_release(struct CUctx_st *context)
{
	struct node *next;
	for (struct node *node = tree_from(own.allocations, 0, 0); node; node = next) {
		next = tree_from(own.allocations, node->key + 1, 0);
		if (((struct allocation *)node)->context == context)
			release((struct allocation *)node);
	}
}

CUresult cuMemGetInfo_v2(size_t *free, size_t *total)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemGetInfo_v2", CURRENT);
	if (answer == CUDA_SUCCESS) {
		number capacity = device_capacity(call.state, call.device);
		number held = ledger_held(own.ledger, call.device->key);
		number left = held < capacity ? capacity - held : 0;
		if (call.device->limit && call.device->limit - call.device->taken < left && !*call.device->instance)
			left = call.device->limit - call.device->taken;
		if (free)
			*free = (size_t)left;
		if (total)
			*total = (size_t)device_total(call.state, call.device);
	}
	return call_end(&call, answer);
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t size)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemAlloc_v2", CURRENT | FAST | UNSAFE);
	if (answer == CUDA_SUCCESS)
		answer = allocate(&call, size, pointer);
	return call_end(&call, answer);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *pointer, size_t *pitch, size_t width, size_t height, unsigned int element)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemAllocPitch_v2", CURRENT | FAST | UNSAFE);
	if (answer == CUDA_SUCCESS && (!pitch || !width || !height || (element != 4 && element != 8 && element != 16)))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && (width > LARGEST || height > LARGEST / round_up(width, 512)))
		answer = CUDA_ERROR_OUT_OF_MEMORY;
	if (answer == CUDA_SUCCESS) {
		size_t rows = (size_t)round_up(width, 512);
		answer = allocate(&call, rows * height, pointer);
		if (answer == CUDA_SUCCESS)
			*pitch = rows;
	}
	return call_end(&call, answer);
}

int allocation_free(struct allocation *allocation)
{
	if (allocation->kind != LINEAR && allocation->kind != SMALL && allocation->kind != MANAGED)
		return 0;
	release(allocation);
	return 1;
}

CUresult cuMemFree_v2(CUdeviceptr pointer)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemFree_v2", CURRENT | FAST | UNSAFE);
	if (answer == CUDA_SUCCESS && pointer) {
		struct allocation *allocation = allocation_find(pointer);
		if (allocation && allocation->kind == POOLED)
			pool_free(allocation, NULL);
		else if (!allocation || !allocation_free(allocation))
			answer = CUDA_ERROR_INVALID_VALUE;
	}
	return call_end(&call, answer);
}

/* Maps host memory. Only the pages that the program touches take memory. */
static CUresult map_host(const struct call *call, size_t size, enum allocation_kind kind, void **pointer)
{
	if (!pointer || size == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (size > LARGEST)
		return CUDA_ERROR_OUT_OF_MEMORY;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct allocation *made = allocation_add((number)(uintptr_t)memory, size, kind, call->device);
	if (!made) {
		munmap(memory, size);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	made->context = call->context;
	*pointer = memory;
	return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr *pointer, size_t size, unsigned int flags)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemAllocManaged", CURRENT | FAST | UNSAFE);
	if (answer == CUDA_SUCCESS && (!pointer || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)))
		answer = CUDA_ERROR_INVALID_VALUE;
	void *memory = NULL;
	if (answer == CUDA_SUCCESS)
		answer = map_host(&call, size, MANAGED, &memory);
	if (answer == CUDA_SUCCESS)
		*pointer = (CUdeviceptr)(uintptr_t)memory;
	return call_end(&call, answer);
}

CUresult cuMemHostAlloc(void **pointer, size_t size, unsigned int flags)
{
	struct call call;
	(void)flags; /* all host memory is portable and mapped */
	CUresult answer = call_begin(&call, "cuMemHostAlloc", CURRENT | UNSAFE);
	if (answer == CUDA_SUCCESS)
		answer = map_host(&call, size, HOST, pointer);
	return call_end(&call, answer);
}

CUresult cuMemAllocHost_v2(void **pointer, size_t size)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemAllocHost_v2", CURRENT | UNSAFE);
	if (answer == CUDA_SUCCESS)
		answer = map_host(&call, size, HOST, pointer);
	return call_end(&call, answer);
}

CUresult cuMemFreeHost(void *pointer)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemFreeHost", CURRENT | UNSAFE);
	if (answer == CUDA_SUCCESS) {
		struct allocation *allocation = allocation_find((CUdeviceptr)(uintptr_t)pointer);
		if (allocation && allocation->kind == HOST)
			release(allocation);
		else
			answer = CUDA_ERROR_INVALID_VALUE;
	}
	return call_end(&call, answer);
}

/* Records memory that the program has allocated itself. */
CUresult cuMemHostRegister_v2(void *pointer, size_t size, unsigned int flags)
{
	struct call call;
	(void)flags; /* as in cuMemHostAlloc */
	number address = (number)(uintptr_t)pointer;
	CUresult answer = call_begin(&call, "cuMemHostRegister_v2", CURRENT | UNSAFE);
	if (answer == CUDA_SUCCESS && (!pointer || size == 0 || size > LARGEST))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		const struct node *next = tree_from(own.allocations, address, 0);
		if (allocation_around(address) || (next && next->key < address + size))
			answer = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	}
	if (answer == CUDA_SUCCESS) {
		struct allocation *made = allocation_add(address, size, REGISTERED, call.device);
		if (made)
			made->context = call.context;
		else
			answer = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return call_end(&call, answer);
}

CUresult cuMemHostUnregister(void *pointer)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemHostUnregister", CURRENT | UNSAFE);
	if (answer == CUDA_SUCCESS) {
		struct allocation *allocation = allocation_find((CUdeviceptr)(uintptr_t)pointer);
		if (allocation && allocation->kind == REGISTERED)
			release(allocation);
		else
			answer = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	}
	return call_end(&call, answer);
}

/* The pools of a device, and the attributes of pools. */
#include "driver.h"

static CUresult pool_of(const char *name, CUmemoryPool *pool, CUdevice ordinal, int current)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, name, INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = call_device(&call, ordinal, &device);
	if (answer == CUDA_SUCCESS && !pool)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		CUmemoryPool found = pool_current(device);
		*pool = current ? found : device->default_pool;
		if (!*pool)
			answer = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return call_end(&call, answer);
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
	return pool_of("cuDeviceGetDefaultMemPool", pool, device, 0);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
	return pool_of("cuDeviceGetMemPool", pool, device, 1);
}

CUresult cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool pool)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, "cuDeviceSetMemPool", INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = call_device(&call, ordinal, &device);
	if (answer == CUDA_SUCCESS && (!object_is(pool, POOL) || pool->arena.device != device || pool == device->graph_pool))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		device->current_pool = pool;
	return call_end(&call, answer);
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemPoolGetAttribute", INITIALISED | FAST);
	if (answer == CUDA_SUCCESS && (!value || !object_is(pool, POOL)))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		cuuint64_t *bytes = value;
		switch (attribute) {
		case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
		case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
		case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: *(int *)value = pool->reuse[attribute]; break;
		case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: *bytes = pool->threshold; break;
		case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: *bytes = pool->arena.reserved; break;
		case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: *bytes = pool->reserved_high; break;
		case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: *bytes = pool->used; break;
		case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *bytes = pool->used_high; break;
		default: answer = CUDA_ERROR_INVALID_VALUE;
		}
	}
	return call_end(&call, answer);
}

/* High marks can only be reset to the present value. */
static CUresult reset_high(number *high, number now, const cuuint64_t *value)
{
	if (*value != 0)
		return CUDA_ERROR_INVALID_VALUE;
	*high = now;
	return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemPoolSetAttribute", INITIALISED | FAST);
	if (answer == CUDA_SUCCESS && (!value || !object_is(pool, POOL)))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		switch (attribute) {
		case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
		case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
		case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: pool->reuse[attribute] = *(int *)value != 0; break;
		case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: pool->threshold = *(cuuint64_t *)value; break;
		case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
			answer = reset_high(&pool->reserved_high, pool->arena.reserved, value);
			break;
		case CU_MEMPOOL_ATTR_USED_MEM_HIGH: answer = reset_high(&pool->used_high, pool->used, value); break;
		default: answer = CUDA_ERROR_INVALID_VALUE;
		}
	}
	return call_end(&call, answer);
}

/* Every GPU of the box can access the memory of every other. */
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *access, size_t count)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemPoolSetAccess", INITIALISED);
	if (answer == CUDA_SUCCESS && (!object_is(pool, POOL) || (count && !access)))
		answer = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; answer == CUDA_SUCCESS && i < count; i++)
		if (access[i].location.id < 0 || access[i].location.id >= own.device_count)
			answer = CUDA_ERROR_INVALID_DEVICE;
	return call_end(&call, answer);
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemPoolGetAccess", INITIALISED);
	if (answer == CUDA_SUCCESS && (!flags || !location || !object_is(pool, POOL)))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		*flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return call_end(&call, answer);
}

static number *graph_figure(struct device *device, CUgraphMem_attribute attribute)
{
	CUmemoryPool pool = device->graph_pool;
	switch (attribute) {
	case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT: return &pool->used;
	case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: return &pool->used_high;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT: return &pool->arena.reserved;
	case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: return &pool->reserved_high;
	default: return NULL;
	}
}

static CUresult graph_begin(struct call *call, const char *name, CUdevice ordinal, struct device **device)
{
	CUresult answer = call_begin(call, name, INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = call_device(call, ordinal, device);
	if (answer == CUDA_SUCCESS && !(*device)->graph_pool && !((*device)->graph_pool = pool_new(*device)))
		answer = CUDA_ERROR_OUT_OF_MEMORY;
	return answer;
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void *value)
{
	struct call call;
	struct device *device;
	CUresult answer = graph_begin(&call, "cuDeviceGetGraphMemAttribute", ordinal, &device);
	const number *figure = answer == CUDA_SUCCESS ? graph_figure(device, attribute) : NULL;
	if (answer == CUDA_SUCCESS && (!value || !figure))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		*(cuuint64_t *)value = *figure;
	return call_end(&call, answer);
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void *value)
{
	struct call call;
	struct device *device;
	CUresult answer = graph_begin(&call, "cuDeviceSetGraphMemAttribute", ordinal, &device);
	if (answer == CUDA_SUCCESS && !value)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH)
		answer = reset_high(&device->graph_pool->used_high, device->graph_pool->used, value);
	else if (answer == CUDA_SUCCESS && attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		answer = reset_high(&device->graph_pool->reserved_high, device->graph_pool->arena.reserved, value);
	else if (answer == CUDA_SUCCESS)
		answer = CUDA_ERROR_INVALID_VALUE;
	return call_end(&call, answer);
}

CUresult cuDeviceGraphMemTrim(CUdevice ordinal)
{
	struct call call;
	struct device *device;
	CUresult answer = graph_begin(&call, "cuDeviceGraphMemTrim", ordinal, &device);
	if (answer == CUDA_SUCCESS)
		arena_trim(&device->graph_pool->arena, 0);
	return call_end(&call, answer);
}

/*
 * Stream-ordered allocation. A pool takes memory of its GPU in chunks of
 * 32 MiB and keeps them: freed memory is used again before new chunks.
 *
 *   cuMemAllocAsync ──→ a free block of the pool, best fit ── none: a new chunk
 *   cuMemFreeAsync ──→ pending ── a wait for the stream, or its next allocation ──→ free block
 *                                   └── after a wait, wholly free chunks above the release threshold go back
 *
 * Pending memory counts as used, as in NVIDIA's driver, which learns of frees when
 * it synchronises. Memory of allocations in a captured stream comes from a pool of
 * the device's own for graphs, which only cuDeviceGraphMemTrim shrinks.
 */
#include "driver.h"

#include <stdlib.h>

#define CHUNK (32 * MIB)
#define GRANULARITY 512

CUmemoryPool pool_new(struct device *device)
{
	CUmemoryPool pool = calloc(1, sizeof *pool);
	if (!pool)
		return NULL;
	arena_init(&pool->arena, device, CHUNK, GRANULARITY);
	pool->reuse[CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = 1;
	pool->reuse[CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC] = 1;
	pool->reuse[CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES] = 1;
	object_add(&pool->object, POOL);
	return pool;
}

CUmemoryPool pool_current(struct device *device)
{
	if (!device->default_pool)
		device->default_pool = pool_new(device);
	return device->current_pool ? device->current_pool : device->default_pool;
}

/* A destroyed pool is freed with its last allocation. */
static void let_go(CUmemoryPool pool)
{
	arena_trim(&pool->arena, 0);
	if (pool->live == 0 && !pool->pending)
		free(pool);
}

/* Frees the pending memory of a stream, or of all streams (0). */
static void settle(CUmemoryPool pool, number stream)
{
	struct allocation **link = &pool->pending;
	while (*link) {
		struct allocation *allocation = *link;
		if (stream && allocation->stream != stream) {
			link = &allocation->next;
			continue;
		}
		*link = allocation->next;
		pool->used -= allocation->block->size;
		arena_give(&pool->arena, allocation->block);
		free(allocation);
	}
}

void pools_settle(struct device *device, number stream)
{
	for (CUmemoryPool pool = object_next(POOL, NULL); pool; pool = object_next(POOL, pool))
		if (pool->arena.device == device && pool != device->graph_pool)
			settle(pool, stream);
}

void pools_synchronize(struct device *device, number stream)
{
	pools_settle(device, stream);
	for (CUmemoryPool pool = object_next(POOL, NULL); pool; pool = object_next(POOL, pool))
		if (pool->arena.device == device && pool != device->graph_pool)
			arena_trim(&pool->arena, pool->threshold);
}

static void count(CUmemoryPool pool, number taken)
{
	pool->used += taken;
	if (pool->used > pool->used_high)
		pool->used_high = pool->used;
	if (pool->arena.reserved > pool->reserved_high)
		pool->reserved_high = pool->arena.reserved;
}

/* Takes a block of the pool. If necessary it reuses memory that was freed on other streams, then takes a
 * chunk of the GPU, then lets the GPU's other pools free what they keep. */
static struct block *find_room(const struct call *call, CUmemoryPool pool, number size, number stream)
{
	settle(pool, stream);
	struct block *block = space_take(&pool->arena.space, size, 0);
	if (!block && pool->reuse[CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC])
		settle(pool, 0);
	if (!block)
		block = arena_take(call, &pool->arena, size);
	if (block)
		return block;
	for (CUmemoryPool other = object_next(POOL, NULL); other; other = object_next(POOL, other))
		if (other->arena.device == pool->arena.device && other != pool->arena.device->graph_pool) {
			settle(other, 0);
			arena_trim(&other->arena, 0);
		}
	return arena_take(call, &pool->arena, size);
}

CUresult pool_allocate(const struct call *call, CUmemoryPool pool, number size, struct CUstream_st *stream,
                       CUdeviceptr *pointer)
{
	if (!pointer || size == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (size > LARGEST)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (stream->capturing == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (stream->capturing == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
		struct device *device = pool->arena.device;
		if (!device->graph_pool)
			device->graph_pool = pool_new(device);
		pool = device->graph_pool;
	}
	struct block *block = pool ? find_room(call, pool, size, stream->id) : NULL;
	struct allocation *made = block ? allocation_add(block->address, size, POOLED, pool->arena.device) : NULL;
	if (!made) {
		if (block)
			arena_give(&pool->arena, block);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	made->block = block;
	made->pool = pool;
	made->graph = stream->graph;
	pool->live++;
	count(pool, block->size);
	*pointer = block->address;
	return CUDA_SUCCESS;
}

void pool_free(struct allocation *allocation, struct CUstream_st *stream)
{
	CUmemoryPool pool = allocation->pool;
	tree_remove(&own.allocations, &allocation->node);
	allocation->stream = stream ? stream->id : 0;
	allocation->next = pool->pending;
	pool->pending = allocation;
	pool->live--;
	if (!stream || stream->capturing || pool->destroyed || pool == pool->arena.device->graph_pool)
		settle(pool, allocation->stream);
	if (pool->destroyed)
		let_go(pool);
}

void pools_release(struct device *device)
{
	struct node *next;
	for (struct node *node = tree_from(own.allocations, 0, 0); node; node = next) {
		next = tree_from(own.allocations, node->key + 1, 0);
		struct allocation *allocation = (struct allocation *)node;
		if (allocation->kind == POOLED && allocation->device == device)
			pool_free(allocation, NULL);
	}
	for (CUmemoryPool pool = object_next(POOL, NULL); pool; pool = object_next(POOL, pool))
		if (pool->arena.device == device) {
			settle(pool, 0);
			arena_trim(&pool->arena, 0);
		}
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
	struct call call;
	struct device *device = NULL;
	CUresult answer = call_begin(&call, "cuMemPoolCreate", INITIALISED);
	if (answer == CUDA_SUCCESS && (!pool || !properties || properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		answer = CUDA_ERROR_NOT_SUPPORTED;
	if (answer == CUDA_SUCCESS)
		answer = call_device(&call, properties->location.id, &device);
	if (answer == CUDA_SUCCESS && !(*pool = pool_new(device)))
		answer = CUDA_ERROR_OUT_OF_MEMORY;
	if (answer == CUDA_SUCCESS) {
		(*pool)->handle_types = properties->handleTypes;
		(*pool)->arena.largest = properties->maxSize;
	}
	return call_end(&call, answer);
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemPoolDestroy", INITIALISED);
	if (answer == CUDA_SUCCESS && (!object_is(pool, POOL) || pool == pool->arena.device->default_pool ||
	                               pool == pool->arena.device->graph_pool))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		if (pool->arena.device->current_pool == pool)
			pool->arena.device->current_pool = NULL;
		object_remove(&pool->object);
		settle(pool, 0);
		pool->destroyed = 1;
		let_go(pool);
	}
	return call_end(&call, answer);
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemPoolTrimTo", INITIALISED);
	if (answer == CUDA_SUCCESS && !object_is(pool, POOL))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		arena_trim(&pool->arena, keep);
	return call_end(&call, answer);
}

/*
 * The CUDA calls that read figures. They need and make no context. When the process
 * exits, driver_enter fails from before the driver shuts down.
 */
#define _GNU_SOURCE
#include "serve.h"

#include <limits.h>
#include <stdio.h>

enum { CLOSE_TIME = 1000 };

static struct {
	struct lock lock;
	int inside, closed;
	struct driver calls;
	struct gpu devices[DEVICES];
} driver;

int driver_enter(void)
{
	lock_take(&driver.lock);
	int open = !driver.closed;
	__atomic_add_fetch(&driver.inside, open, __ATOMIC_RELAXED);
	lock_give(&driver.lock);
	return open;
}

void driver_leave(void)
{
	__atomic_sub_fetch(&driver.inside, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&driver.closed, __ATOMIC_SEQ_CST))
		futex_wake(&driver.inside, INT_MAX);
}

void driver_close(void)
{
	uint64_t began = milliseconds(), waited = 0;
	int inside;
	lock_take(&driver.lock);
	__atomic_store_n(&driver.closed, 1, __ATOMIC_SEQ_CST);
	lock_give(&driver.lock);
	/* A thread that hangs in the driver delays the exit by CLOSE_TIME at most. */
	while ((inside = __atomic_load_n(&driver.inside, __ATOMIC_SEQ_CST)) > 0 && waited < CLOSE_TIME) {
		futex_wait(&driver.inside, inside, CLOSE_TIME - waited);
		waited = milliseconds() - began;
	}
}

void driver_reopen(void)
{
	driver.lock = (struct lock){ 0 };
	driver.inside = driver.closed = 0;
	memset(driver.devices, 0, sizeof driver.devices);
}

const struct driver *own_driver_calls(void)
{
#define FIND(name) driver.calls.name = (__typeof__(driver.calls.name))resolve_driver(#name)
	if (!driver.calls.cuDriverGetVersion) {
		FIND(cuDeviceGetCount);
		FIND(cuDevicePrimaryCtxGetState);
		FIND(cuDeviceGetUuid);
		FIND(cuDeviceGetUuid_v2);
		FIND(cuDeviceTotalMem_v2);
		FIND(cuPointerGetAttribute);
		FIND(cuDeviceGetDefaultMemPool);
		FIND(cuMemPoolGetAttribute);
		FIND(cuDeviceGetGraphMemAttribute);
		FIND(cuDriverGetVersion);
	}
#undef FIND
	return &driver.calls;
}

int device_is_used(int device)
{
	const struct driver *calls = own_driver_calls();
	unsigned int flags;
	int count = 0, active = 0;
	if (device_in_use(device))
		return 1;
	return calls->cuDeviceGetCount && calls->cuDevicePrimaryCtxGetState && calls->cuDeviceGetCount(&count) == CUDA_SUCCESS &&
	       device < count && calls->cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active;
}

/* In NVML's form. On a MIG instance the first call returns the GPU's UUID, the second the instance's. */
static int read_uuid(const struct driver *calls, int device, char uuid[UUID_SIZE])
{
	CUuuid gpu = { { 0 } }, own = { { 0 } };
	int has_gpu = calls->cuDeviceGetUuid && calls->cuDeviceGetUuid(&gpu, device) == CUDA_SUCCESS;
	int has_own = calls->cuDeviceGetUuid_v2 && calls->cuDeviceGetUuid_v2(&own, device) == CUDA_SUCCESS;
	if (!has_gpu && !has_own)
		return 0;
	const unsigned char *bytes = (const unsigned char *)(has_own ? own.bytes : gpu.bytes);
	int instance = has_gpu && has_own && memcmp(&gpu, &own, sizeof gpu) != 0;
	int used = snprintf(uuid, UUID_SIZE, "%s", instance ? "MIG-" : "GPU-");
	for (int i = 0; i < 16; i++)
		used += snprintf(uuid + used, (size_t)(UUID_SIZE - used), "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
		                 bytes[i]);
	return 1;
}

const struct gpu *gpu_of(int device)
{
	struct gpu *gpu = &driver.devices[device];
	const struct driver *calls = own_driver_calls();
	size_t total = 0;
	struct gpu fresh = { .known = 0 };
	if (__atomic_load_n(&gpu->known, __ATOMIC_ACQUIRE))
		return gpu;
	if (!read_uuid(calls, device, fresh.uuid))
		return NULL;
	if (calls->cuDeviceTotalMem_v2 && calls->cuDeviceTotalMem_v2(&total, device) == CUDA_SUCCESS)
		fresh.total = total;
	lock_take(&driver.lock);
	if (!gpu->known) {
		memcpy(gpu->uuid, fresh.uuid, sizeof gpu->uuid);
		gpu->total = fresh.total;
		__atomic_store_n(&gpu->known, 1, __ATOMIC_RELEASE);
	}
	lock_give(&driver.lock);
	return gpu;
}

int gpu_uuid(int device, char uuid[UUID_SIZE])
{
	const struct gpu *gpu = &driver.devices[device];
	if (!__atomic_load_n(&gpu->known, __ATOMIC_ACQUIRE))
		return 0;
	memcpy(uuid, gpu->uuid, UUID_SIZE);
	return 1;
}

int device_pools(int device, struct pool list[POOLS])
{
	const struct driver *calls = own_driver_calls();
	CUmemoryPool usual = NULL;
	if (!calls->cuDeviceGetDefaultMemPool || !calls->cuMemPoolGetAttribute)
		return 0;
	if (!device_is_used(device) || calls->cuDeviceGetDefaultMemPool(&usual, device) != CUDA_SUCCESS)
		usual = NULL;
	return pools_of(device, usual, list);
}

int pool_read(uint64_t handle, struct pool_stats *stats)
{
	/* Used is read first, so that it is seldom above reserved. */
	const struct {
		CUmemPool_attribute attribute;
		uint64_t *to;
	} figures[] = {
		{ CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &stats->used },      { CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &stats->reserved },
		{ CU_MEMPOOL_ATTR_USED_MEM_HIGH, &stats->used_high },    { CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &stats->reserved_high },
		{ CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &stats->threshold },
	};
	const struct driver *calls = own_driver_calls();
	if (!pool_hold(handle))
		return 0;
	CUresult answer = CUDA_SUCCESS;
	for (size_t i = 0; i < sizeof figures / sizeof *figures && answer == CUDA_SUCCESS; i++) {
		cuuint64_t value = 0;
		answer = calls->cuMemPoolGetAttribute((CUmemoryPool)(uintptr_t)handle, figures[i].attribute, &value);
		*figures[i].to = value;
	}
	pool_release(handle);
	if (stats->used > stats->reserved)
		stats->used = stats->reserved;
	return answer == CUDA_SUCCESS;
}

uint64_t pool_fragmented(const struct pool *pool, const struct pool_stats *stats)
{
	uint64_t idle = stats->reserved - stats->used;
	return pool->residue_known ? (pool->residue < idle ? pool->residue : idle) : 0;
}

int graph_memory(int device, uint64_t *used, uint64_t *reserved)
{
	const struct driver *calls = own_driver_calls();
	cuuint64_t in_use = 0, held = 0;
	if (!calls->cuDeviceGetGraphMemAttribute || !device_is_used(device) ||
	    calls->cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &in_use) != CUDA_SUCCESS ||
	    calls->cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &held) != CUDA_SUCCESS)
		return 0;
	*used = in_use < held ? in_use : held;
	*reserved = held;
	return held > 0;
}

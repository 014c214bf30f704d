/*
 * The calls that the threads of this library make themselves: attributes and
 * trims, which need no current context and make none. At the end of the
 * process, when the driver is about to be torn down, nobody gets in any more.
 */
#define _GNU_SOURCE
#include "serve.h"

#include <stdio.h>
#include <time.h>

static struct {
	pthread_mutex_t lock;
	pthread_cond_t left;
	int inside, closed;
	struct driver calls;
	struct seen devices[DEVICES];
} driver = { .lock = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER };

int driver_enter(void)
{
	pthread_mutex_lock(&driver.lock);
	int open = !driver.closed;
	driver.inside += open;
	pthread_mutex_unlock(&driver.lock);
	return open;
}

void driver_leave(void)
{
	pthread_mutex_lock(&driver.lock);
	driver.inside--;
	pthread_cond_broadcast(&driver.left);
	pthread_mutex_unlock(&driver.lock);
}

void driver_close(void)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pthread_mutex_lock(&driver.lock);
	driver.closed = 1;
	/* Who is still in it then hangs there, and the process ends all the same. */
	while (driver.inside > 0 && pthread_cond_timedwait(&driver.left, &driver.lock, &until) == 0)
		;
	pthread_mutex_unlock(&driver.lock);
}

void driver_reopen(void)
{
	pthread_mutex_init(&driver.lock, NULL);
	pthread_cond_init(&driver.left, NULL);
	driver.inside = driver.closed = 0;
	memset(driver.devices, 0, sizeof driver.devices);
}

const struct driver *driver_calls_of_ours(void)
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
	const struct driver *calls = driver_calls_of_ours();
	unsigned int flags;
	int count = 0, active = 0;
	if (device_in_use(device))
		return 1;
	return calls->cuDeviceGetCount && calls->cuDevicePrimaryCtxGetState && calls->cuDeviceGetCount(&count) == CUDA_SUCCESS &&
	       device < count && calls->cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS && active;
}

/* NVML's form. The second version of the call differs for MIG instances alone. */
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

const struct seen *device_seen(int device)
{
	struct seen *seen = &driver.devices[device];
	const struct driver *calls = driver_calls_of_ours();
	size_t total = 0;
	struct seen fresh = { .known = 0 };
	if (__atomic_load_n(&seen->known, __ATOMIC_ACQUIRE))
		return seen;
	if (!read_uuid(calls, device, fresh.uuid))
		return NULL;
	if (calls->cuDeviceTotalMem_v2 && calls->cuDeviceTotalMem_v2(&total, device) == CUDA_SUCCESS)
		fresh.total = total;
	pthread_mutex_lock(&driver.lock);
	if (!seen->known) {
		memcpy(seen->uuid, fresh.uuid, sizeof seen->uuid);
		seen->total = fresh.total;
		__atomic_store_n(&seen->known, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&driver.lock);
	return seen;
}

int device_pools(int device, struct pool list[POOLS])
{
	const struct driver *calls = driver_calls_of_ours();
	CUmemoryPool usual = NULL;
	if (!calls->cuDeviceGetDefaultMemPool || !calls->cuMemPoolGetAttribute)
		return 0;
	if (!device_is_used(device) || calls->cuDeviceGetDefaultMemPool(&usual, device) != CUDA_SUCCESS)
		usual = NULL;
	return pools_of(device, usual, list);
}

int pool_read(uint64_t handle, struct pool_books *books)
{
	/* Used is read first: what is allocated between the two makes a little more idle, never a used above reserved. */
	const struct {
		CUmemPool_attribute attribute;
		uint64_t *to;
	} figures[] = {
		{ CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &books->used },      { CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &books->reserved },
		{ CU_MEMPOOL_ATTR_USED_MEM_HIGH, &books->used_high },    { CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &books->reserved_high },
		{ CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &books->threshold },
	};
	const struct driver *calls = driver_calls_of_ours();
	if (!pool_hold(handle))
		return 0;
	CUresult answer = CUDA_SUCCESS;
	for (size_t i = 0; i < sizeof figures / sizeof *figures && answer == CUDA_SUCCESS; i++) {
		cuuint64_t value = 0;
		answer = calls->cuMemPoolGetAttribute((CUmemoryPool)(uintptr_t)handle, figures[i].attribute, &value);
		*figures[i].to = value;
	}
	pool_let_go(handle);
	if (books->used > books->reserved)
		books->used = books->reserved;
	return answer == CUDA_SUCCESS;
}

uint64_t pool_fragmented(const struct pool *pool, const struct pool_books *books)
{
	uint64_t idle = books->reserved - books->used;
	return pool->residue_known ? (pool->residue < idle ? pool->residue : idle) : 0;
}

int graph_memory(int device, uint64_t *used, uint64_t *reserved)
{
	const struct driver *calls = driver_calls_of_ours();
	cuuint64_t in_use = 0, held = 0;
	if (!calls->cuDeviceGetGraphMemAttribute || !device_is_used(device) ||
	    calls->cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &in_use) != CUDA_SUCCESS ||
	    calls->cuDeviceGetGraphMemAttribute(device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &held) != CUDA_SUCCESS)
		return 0;
	*used = in_use < held ? in_use : held;
	*reserved = held;
	return held > 0;
}

/*
 * The program's memory pools, and the current pool of each device. The driver has
 * their stats (driver.c), and must not be asked about a pool that is being destroyed:
 * our threads hold a pool while they ask, and the destruction waits for them.
 */
#include "shim.h"

#include <limits.h>

enum { HELD_AT_ONCE = 2 }; /* by the serving and the flushing thread */

static struct {
	struct lock lock;
	int releases; /* counted; a thread that waits for a pool waits for a change of this */
	struct pool list[POOLS];
	uint64_t current[DEVICES]; /* 0: the default one */
	uint64_t held[HELD_AT_ONCE];
} pools;

/* Under the lock, as find_or_add and is_held. */
static struct pool *find(uint64_t handle)
{
	for (int i = 0; handle && i < POOLS; i++)
		if (pools.list[i].handle == handle)
			return &pools.list[i];
	return NULL;
}

static struct pool *find_or_add(uint64_t handle, int device)
{
	struct pool *pool = find(handle);
	for (int i = 0; !pool && i < POOLS; i++)
		if (!pools.list[i].handle)
			pool = &pools.list[i];
	if (pool && !pool->handle)
		*pool = (struct pool){ .handle = handle, .device = (uint8_t)device };
	return pool;
}

static uint64_t number(CUmemoryPool pool)
{
	return (uint64_t)(uintptr_t)pool;
}

void pool_made(CUmemoryPool pool, int device)
{
	if (device < 0 || device >= DEVICES)
		return;
	stats_lock(&pools.lock);
	(void)find_or_add(number(pool), device); /* more than POOLS pools are not reported */
	stats_unlock(&pools.lock);
}

void pool_set(int device, CUmemoryPool pool)
{
	if (device < 0 || device >= DEVICES)
		return;
	stats_lock(&pools.lock);
	__atomic_store_n(&pools.current[device], number(pool), __ATOMIC_RELAXED);
	stats_unlock(&pools.lock);
}

static int is_held(uint64_t handle)
{
	for (int i = 0; i < HELD_AT_ONCE; i++)
		if (pools.held[i] == handle)
			return 1;
	return 0;
}

int pool_ending(CUmemoryPool handle, struct pool *was)
{
	stats_lock(&pools.lock);
	struct pool *pool = find(number(handle));
	if (pool) {
		*was = *pool;
		pool->handle = 0;
		while (is_held(was->handle)) {
			int releases = pools.releases;
			stats_unlock(&pools.lock);
			futex_wait(&pools.releases, releases, FOREVER);
			stats_lock(&pools.lock);
		}
	}
	for (int i = 0; i < DEVICES; i++)
		if (pools.current[i] == number(handle))
			__atomic_store_n(&pools.current[i], 0, __ATOMIC_RELAXED);
	stats_unlock(&pools.lock);
	return pool != NULL;
}

void pool_end_failed(const struct pool *was)
{
	stats_lock(&pools.lock);
	struct pool *pool = find_or_add(was->handle, was->device);
	if (pool)
		*pool = *was;
	stats_unlock(&pools.lock);
}

uint64_t pool_current(int device)
{
	return device < DEVICES ? __atomic_load_n(&pools.current[device], __ATOMIC_RELAXED) : 0;
}

void pool_out_of_memory(uint64_t handle, int device)
{
	stats_lock(&pools.lock);
	struct pool *pool = find(handle ? handle : device < DEVICES ? pools.current[device] : 0);
	for (int i = 0; !pool && i < POOLS; i++)
		if (pools.list[i].handle && pools.list[i].is_default && pools.list[i].device == device)
			pool = &pools.list[i];
	if (pool)
		pool->out_of_memory++;
	stats_unlock(&pools.lock);
	if (!pool)
		count_out_of_memory((uint8_t)device);
}

int pools_of(int device, CUmemoryPool default_pool, struct pool list[POOLS])
{
	int found = 0;
	stats_lock(&pools.lock);
	struct pool *usual = default_pool ? find_or_add(number(default_pool), device) : NULL;
	if (usual)
		usual->is_default = 1;
	for (int i = 0; i < POOLS; i++)
		if (pools.list[i].handle && pools.list[i].device == device)
			list[found++] = pools.list[i];
	stats_unlock(&pools.lock);
	return found;
}

int pools_default(uint64_t handles[DEVICES])
{
	int found = 0;
	stats_lock(&pools.lock);
	for (int i = 0; i < POOLS && found < DEVICES; i++)
		if (pools.list[i].handle && pools.list[i].is_default)
			handles[found++] = pools.list[i].handle;
	stats_unlock(&pools.lock);
	return found;
}

int pool_hold(uint64_t handle)
{
	int held = 0;
	stats_lock(&pools.lock);
	for (int i = 0; find(handle) && !held && i < HELD_AT_ONCE; i++)
		if (!pools.held[i]) {
			pools.held[i] = handle;
			held = 1;
		}
	stats_unlock(&pools.lock);
	return held;
}

void pool_release(uint64_t handle)
{
	stats_lock(&pools.lock);
	for (int i = 0; i < HELD_AT_ONCE; i++)
		if (pools.held[i] == handle) {
			pools.held[i] = 0;
			break;
		}
	__atomic_add_fetch(&pools.releases, 1, __ATOMIC_RELAXED); /* threads that wait read it without the lock */
	stats_unlock(&pools.lock);
	futex_wake(&pools.releases, INT_MAX);
}

void pool_note_residue(uint64_t handle, uint64_t residue)
{
	stats_lock(&pools.lock);
	struct pool *pool = find(handle);
	if (pool) {
		pool->residue = residue;
		pool->residue_known = 1;
	}
	stats_unlock(&pools.lock);
}

void pools_reset(void)
{
	memset(&pools, 0, sizeof pools);
}

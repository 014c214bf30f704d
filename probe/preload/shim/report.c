/*
 * The stats of the process: the ledger's sums, and the driver's figures of its
 * pools, for each device on which the program has a context or memory.
 */
#define _GNU_SOURCE
#include "rescue.h"

#include <time.h>
#include <unistd.h>

typedef unsigned long long big; /* for %llu */

enum { PLACED_AT_ONCE = 1024 };

struct unplaced {
	int count;
	struct entry list[PLACED_AT_ONCE];
};

static void collect(const struct entry *entry, void *argument)
{
	struct unplaced *unplaced = argument;
	if (entry->device == NOWHERE && unplaced->count < PLACED_AT_ONCE)
		unplaced->list[unplaced->count++] = *entry;
}

/* Asks the driver for the device of allocations in contexts whose creation was not seen. */
static void place_unknown(void)
{
	const struct driver *calls = own_driver_calls();
	struct unplaced *unplaced = calls->cuPointerGetAttribute ? pages_alloc(sizeof *unplaced) : NULL;
	if (!unplaced)
		return;
	ledger_walk(&process.ledger, collect, unplaced);
	for (int i = 0; i < unplaced->count; i++) {
		const struct entry *entry = &unplaced->list[i];
		int device = -1;
		CUresult answer = calls->cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, entry->address);
		if (answer == CUDA_SUCCESS && device >= 0 && device < DEVICES)
			ledger_place(&process.ledger, entry, (uint8_t)device);
	}
	pages_free(unplaced, sizeof *unplaced);
}

uint64_t raw_bytes(int device, const struct sums *sums, const struct sum vmm[DEVICES])
{
	return sums->of[RAW][device].bytes + vmm[device].bytes;
}

uint64_t device_raw_bytes(int device)
{
	struct sums *now = pages_alloc(sizeof *now);
	struct sum vmm[DEVICES];
	uint64_t bytes = 0;
	if (now) {
		ledger_sum(&process.ledger, now);
		vmm_sum(vmm);
		bytes = raw_bytes(device, now, vmm);
		pages_free(now, sizeof *now);
	}
	return bytes;
}

int device_has_anything(int device, const struct sums *sums, const struct sum vmm[DEVICES])
{
	return device_is_used(device) || sums->of[RAW][device].count || sums->of[POOLED][device].count || vmm[device].count ||
	       pool_current(device);
}

static void report_raw(struct text *text, int device, const struct sums *sums, const struct sum vmm[DEVICES])
{
	uint64_t bytes = raw_bytes(device, sums, vmm), count = sums->of[RAW][device].count + vmm[device].count;
	const struct sum *managed = &sums->of[MANAGED][device], *imported = &sums->of[IMPORTED][device];
	uint64_t failed = __atomic_load_n(&process.out_of_memory[device], __ATOMIC_RELAXED);
	text_add(text,
	         "{\"kind\":\"raw\",\"reserved_bytes\":%llu,\"allocated_bytes\":%llu,\"cached_bytes\":0,\"fragmented_bytes\":0,"
	         "\"returnable_bytes\":0,\"segments\":%llu,\"out_of_memory_count\":%llu,\"failed_allocations\":%llu",
	         (big)bytes, (big)bytes, (big)count, (big)failed, (big)failed);
	if (managed->count)
		text_add(text, ",\"managed_bytes\":%llu", (big)managed->bytes);
	if (imported->count)
		text_add(text, ",\"config\":\"not counted: %llu of other processes\"", (big)imported->count);
	survey_report(text, device, 0, 0);
	survey_origins(text, device);
	text_add(text, "}");
}

static void report_pool(struct text *text, const struct pool *pool)
{
	struct pool_stats of = { 0 };
	/* A default pool that was never used is not reported. */
	if (!pool_read(pool->handle, &of) || (pool->is_default && !of.reserved_high && !pool->out_of_memory))
		return;
	uint64_t fragmented = pool_fragmented(pool, &of), cached = of.reserved - of.used - fragmented;
	text_add(text,
	         ",{\"kind\":\"cuda_pool\",\"handle\":%llu,\"basis\":\"post_flush\",\"reserved_bytes\":%llu,\"allocated_bytes\":%llu,"
	         "\"cached_bytes\":%llu,\"returnable_bytes\":%llu,\"peak_allocated_bytes\":%llu,\"peak_reserved_bytes\":%llu,"
	         "\"out_of_memory_count\":%llu,\"failed_allocations\":%llu",
	         (big)pool->handle, (big)of.reserved, (big)of.used, (big)cached, (big)cached, (big)of.used_high,
	         (big)of.reserved_high, (big)pool->out_of_memory, (big)pool->out_of_memory);
	if (pool->residue_known)
		text_add(text, ",\"fragmented_bytes\":%llu", (big)fragmented);
	if (of.threshold == UINT64_MAX)
		text_add(text, ",\"config\":\"%skeeps all that is freed\"", pool->is_default ? "default pool, " : "");
	else
		text_add(text, ",\"config\":\"%skeeps %llu bytes when synchronised\"", pool->is_default ? "default pool, " : "",
		         (big)of.threshold);
	/* Allocations from the default pool are counted under pool 0. */
	survey_report(text, pool->device, 1, pool->is_default ? 0 : pool->handle);
	text_add(text, "}");
}

static void report_device(struct text *text, int device, const struct sums *sums, const struct sum vmm[DEVICES], int *reported)
{
	const struct gpu *gpu = gpu_of(device);
	struct pool pools[POOLS];
	uint64_t used, reserved;
	if (!gpu)
		return;
	text_add(text, "%s{\"uuid\":\"%s\"", (*reported)++ ? "," : "", gpu->uuid);
	if (gpu->total)
		text_add(text, ",\"total_bytes\":%llu", (big)gpu->total);
	text_add(text, ",\"allocators\":[");
	report_raw(text, device, sums, vmm);
	int count = device_pools(device, pools);
	for (int i = 0; i < count && i < 60; i++) /* a monitor accepts 64 allocators per device */
		report_pool(text, &pools[i]);
	if (graph_memory(device, &used, &reserved))
		text_add(text,
		         ",{\"kind\":\"cuda_graph\",\"basis\":\"post_flush\",\"reserved_bytes\":%llu,\"allocated_bytes\":%llu,"
		         "\"cached_bytes\":%llu,\"returnable_bytes\":%llu}",
		         (big)reserved, (big)used, (big)(reserved - used), (big)(reserved - used));
	text_add(text, "]");
	failures_report(text, device);
	rescue_report(text, device);
	text_add(text, "}");
}

/* Too large for the thread's stack. */
static struct sums sums;

void report_stats(struct text *text)
{
	struct sum vmm[DEVICES];
	struct timespec now;
	int reported = 0;
	ledger_sum(&process.ledger, &sums);
	for (int kind = 0; kind < KINDS; kind++)
		if (sums.of[kind][NOWHERE].count) {
			place_unknown();
			ledger_sum(&process.ledger, &sums);
			break;
		}
	vmm_sum(vmm);
	uint64_t live = 0;
	for (int device = 0; device < DEVICES; device++)
		live += sums.of[RAW][device].count + sums.of[POOLED][device].count + vmm[device].count;
	survey_refresh(live);
	clock_gettime(CLOCK_REALTIME, &now);
	text_add(text, "\"time_ns\":%llu,\"devices\":[", (big)now.tv_sec * 1000000000 + (big)now.tv_nsec);
	for (int device = 0; device < DEVICES; device++)
		if (device_has_anything(device, &sums, vmm))
			report_device(text, device, &sums, vmm, &reported);
	text_add(text, "]");
}

int report_can_flush(void)
{
	struct pool pools[POOLS];
	for (int device = 0; device < DEVICES; device++) {
		uint64_t used, reserved;
		int count = device_is_used(device) ? device_pools(device, pools) : 0;
		for (int i = 0; i < count; i++) {
			struct pool_stats of = { 0 };
			if (!pools[i].is_default || (pool_read(pools[i].handle, &of) && of.reserved_high))
				return 1;
		}
		if (graph_memory(device, &used, &reserved))
			return 1;
	}
	return 0;
}

void report_hello(struct text *text)
{
	const struct driver *calls = own_driver_calls();
	int version = 0;
	text_add(text, "\"proto\":\"vramscope/1\",\"pid\":%d,\"starttime\":%llu,\"runtimes\":[", (int)getpid(), process_start());
	text_add(text, "{\"name\":\"CUDA\"");
	if (calls->cuDriverGetVersion && calls->cuDriverGetVersion(&version) == CUDA_SUCCESS && version >= 1000)
		text_add(text, ",\"version\":\"%d.%d\"", version / 1000, version % 1000 / 10);
	text_add(text, "}],\"capabilities\":[%s],\"started_by\":\"preload\"", report_can_flush() ? "\"flush\"" : "");
}

/*
 * Frees the idle memory of pools. A gradual flush takes four steps and stops if a
 * graph capture begins in between.
 *
 *   synchronise ── trim pools (to 75 %, 50 %, 25 %, none of the surplus) ── trim graphs' memory ── the rest is fragmented
 */
#define _GNU_SOURCE
#include "serve.h"

#include <sched.h>
#include <time.h>

typedef unsigned long long big; /* for %llu */

enum { BURST = 8, PERIOD = 2000 };

static const char capturing[] = "a graph capture is running: a flush would disturb it";

uint64_t flush_rate(void)
{
	/* A token bucket in milliseconds; only the serving thread calls flush_rate. */
	static uint64_t spent, at;
	uint64_t now = milliseconds(), elapsed = at ? now - at : 0;
	spent = elapsed < spent ? spent - elapsed : 0;
	at = now;
	if (spent + PERIOD > (uint64_t)BURST * PERIOD)
		return spent + PERIOD - (uint64_t)BURST * PERIOD;
	spent += PERIOD;
	return 0;
}

struct moment {
	uint64_t reserved, cached;
};

static struct moment measure(int device)
{
	struct pool pools[POOLS];
	struct moment moment = { 0 };
	uint64_t used = 0, reserved = 0;
	int count = device_pools(device, pools);
	for (int i = 0; i < count; i++) {
		struct pool_stats of = { 0 };
		if (!pool_read(pools[i].handle, &of))
			continue;
		moment.reserved += of.reserved;
		moment.cached += of.reserved - of.used - pool_fragmented(&pools[i], &of);
	}
	if (graph_memory(device, &used, &reserved)) {
		moment.reserved += reserved;
		moment.cached += reserved - used;
	}
	moment.reserved += device_raw_bytes(device);
	return moment;
}

/*
 * A pool counts memory as used until the GPU has executed the free. Waiting for that
 * needs a context. The primary one is used, and retained meanwhile: the program could
 * destroy a context that it created at any time.
 */
static int synchronise(int device)
{
	CUcontext context;
	CUresult (*retain)(CUcontext *, CUdevice) = (__typeof__(retain))resolve_driver("cuDevicePrimaryCtxRetain");
	CUresult (*release)(CUdevice) = (__typeof__(release))resolve_driver("cuDevicePrimaryCtxRelease_v2");
	CUresult (*state)(CUdevice, unsigned int *, int *) = (__typeof__(state))resolve_driver("cuDevicePrimaryCtxGetState");
	CUresult (*set)(CUcontext) = (__typeof__(set))resolve_driver("cuCtxSetCurrent");
	CUresult (*wait)(void) = (__typeof__(wait))resolve_driver("cuCtxSynchronize");
	unsigned int flags;
	int active = 0;
	if (!retain || !release || !state || !set || !wait)
		return 0;
	if (state(device, &flags, &active) != CUDA_SUCCESS || !active || retain(&context, device) != CUDA_SUCCESS)
		return 0;
	CUresult answer = set(context);
	if (answer == CUDA_SUCCESS) {
		answer = wait();
		(void)set(NULL);
	}
	(void)release(device);
	return answer == CUDA_SUCCESS;
}

/* Trims the pools of a device until keep bytes of cache are left in all; whole: to nothing, the graphs' memory too. */
static void trim(int device, uint64_t keep, int whole)
{
	CUresult (*trim_to)(CUmemoryPool, size_t) = (__typeof__(trim_to))resolve_driver("cuMemPoolTrimTo");
	CUresult (*trim_graphs)(CUdevice) = (__typeof__(trim_graphs))resolve_driver("cuDeviceGraphMemTrim");
	struct pool pools[POOLS];
	uint64_t used, reserved;
	int count = trim_to ? device_pools(device, pools) : 0;
	for (int i = 0; i < count; i++) {
		struct pool_stats of = { 0 };
		if (!pool_read(pools[i].handle, &of))
			continue;
		uint64_t fragmented = pool_fragmented(&pools[i], &of), idle = of.reserved - of.used - fragmented;
		uint64_t kept = idle < keep ? idle : keep;
		keep -= kept;
		/* Fragmented bytes remain anyway, and do not count as kept. */
		size_t least = whole ? 0 : (size_t)(of.used + fragmented + kept);
		if (!pool_hold(pools[i].handle))
			continue;
		(void)trim_to((CUmemoryPool)(uintptr_t)pools[i].handle, least); /* the result is measured */
		pool_release(pools[i].handle);
		if (whole && pool_read(pools[i].handle, &of))
			pool_note_residue(pools[i].handle, of.reserved - of.used);
	}
	if (whole && trim_graphs && graph_memory(device, &used, &reserved))
		(void)trim_graphs(device); /* the result is measured */
}

/* Frees in steps; NULL, or why it stopped. */
static const char *release(int device, const struct flush *flush, uint64_t cached)
{
	int steps = flush->level == GRADUAL ? 4 : 1;
	uint64_t surplus = cached > flush->keep ? cached - flush->keep : 0;
	for (int step = 1; step <= steps; step++) {
		if (captures_running())
			return capturing;
		uint64_t keep = flush->keep + surplus / (uint64_t)steps * (uint64_t)(steps - step);
		trim(device, step == steps ? flush->keep : keep, step == steps && flush->keep == 0);
		sched_yield();
	}
	return NULL;
}

static int is_wanted(const struct flush *flush, const struct gpu *gpu)
{
	for (int i = 0; i < flush->device_count; i++)
		if (strcmp(flush->devices[i], gpu->uuid) == 0)
			return 1;
	return flush->device_count == 0;
}

void flush_run(const struct flush *flush, struct text *text)
{
	static const char *const levels[] = { [GRADUAL] = "gradual", [SELECTIVE] = "selective", [URGENT] = "urgent" };
	CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUresult (*exchange)(CUstreamCaptureMode *) = (__typeof__(exchange))resolve_driver("cuThreadExchangeStreamCaptureMode");
	const char *skipped = captures_running() ? capturing : NULL;
	uint64_t began = milliseconds();
	int reported = 0, waited = 1, idle = 0;
	if (exchange)
		(void)exchange(&relaxed); /* this thread's calls do not invalidate captures */
	text_add(text, "\"level\":\"%s\",\"dry_run\":%s,\"devices\":[", levels[flush->level], flush->dry_run ? "true" : "false");
	for (int device = 0; device < DEVICES; device++) {
		const struct gpu *gpu = device_is_used(device) ? gpu_of(device) : NULL;
		if (!gpu || !is_wanted(flush, gpu))
			continue;
		struct moment before = measure(device), after = before;
		if (flush->dry_run) {
			idle |= before.cached > 0;
			after.reserved -= before.cached > flush->keep ? before.cached - flush->keep : 0;
		} else if (!skipped) {
			if (!synchronise(device))
				waited = 0;
			skipped = release(device, flush, measure(device).cached);
			after = measure(device);
		}
		text_add(text, "%s{\"uuid\":\"%s\",\"before_bytes\":%llu,\"after_bytes\":%llu,\"freed_bytes\":%lld}", reported++ ? "," : "",
		         gpu->uuid, (big)before.reserved, (big)after.reserved, (long long)(before.reserved - after.reserved));
	}
	if (!reported)
		skipped = "the program uses none of these devices";
	text_add(text, "]");
	if (skipped)
		text_add(text, ",\"skipped_reason\":\"%s\"", skipped);
	const char *notes[3];
	int count = 0;
	if (flush->level == SELECTIVE)
		notes[count++] = "no evictable caches are registered";
	if (idle)
		notes[count++] = "at most: only the flush shows how much is fragmented";
	if (!waited && !skipped)
		notes[count++] = "not synchronised: the program created its own context";
	for (int i = 0; i < count; i++)
		text_add(text, "%s\"%s\"", i ? "," : ",\"notes\":[", notes[i]);
	text_add(text, "%s,\"ms\":%llu", count ? "]" : "", (big)(milliseconds() - began));
}

/* The newest allocations that the driver refused for lack of memory. */
#define _GNU_SOURCE
#include "serve.h"

#include <time.h>

enum { KEPT = 8 };

#define SECOND 1000000000ULL

struct failure {
	uint64_t time; /* nanoseconds since 1970 */
	uint64_t size, caller;
	uint8_t device, api;
};

static struct {
	struct lock lock;
	unsigned int count;
	struct failure list[KEPT]; /* a ring */
	/* The newest failure on each device, and the last one before sizes rose again. */
	struct refused {
		uint64_t time, size;
	} newest[DEVICES], lowest[DEVICES];
} failures;

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

void failure_note(uint8_t device, uint64_t size, enum api api, uint64_t caller)
{
	uint64_t time = now_ns();
	stats_lock(&failures.lock);
	failures.list[failures.count++ % KEPT] =
		(struct failure){ .time = time, .size = size, .caller = caller, .device = device, .api = (uint8_t)api };
	if (device < DEVICES) {
		struct refused *newest = &failures.newest[device];
		if (size > newest->size)
			failures.lowest[device] = *newest;
		*newest = (struct refused){ time, size };
	}
	stats_unlock(&failures.lock);
}

int failure_repeated(uint8_t device, uint64_t size)
{
	uint64_t now = now_ns();
	stats_lock(&failures.lock);
	struct refused newest = failures.newest[device], lowest = failures.lowest[device];
	stats_unlock(&failures.lock);
	return (newest.size == size && now - newest.time < SECOND) || (lowest.size == size && now - lowest.time < SECOND);
}

void failures_report(struct text *text, int device)
{
	struct failure list[KEPT];
	int reported = 0;
	stats_lock(&failures.lock);
	unsigned int end = failures.count, next = end > KEPT ? end - KEPT : 0;
	memcpy(list, failures.list, sizeof list);
	stats_unlock(&failures.lock);
	for (; next < end; next++) {
		const struct failure *failure = &list[next % KEPT];
		if (failure->device != device)
			continue;
		text_add(text, "%s{\"time_ns\":%llu,\"bytes\":%llu,\"api\":\"%s\"", reported++ ? "," : ",\"out_of_memory\":[",
		         (unsigned long long)failure->time, (unsigned long long)failure->size, api_name(failure->api));
		origin_report(text, failure->caller);
		text_add(text, "}");
	}
	if (reported)
		text_add(text, "]");
}

void failures_reset(void)
{
	memset(&failures, 0, sizeof failures);
}

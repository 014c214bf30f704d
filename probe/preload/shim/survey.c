/*
 * How many single allocations there are in each allocator, and the largest of
 * them. That takes a look at all; where there are very many, now and then.
 */
#define _GNU_SOURCE
#include "serve.h"

#include <dlfcn.h>

enum {
	LARGEST = 8,
	ALLOCATORS = 256,
	MANY = 1 << 16,          /* so many are looked at each time … */
	SELDOM = 10 * 1000,      /* … and more than that so seldom, in milliseconds */
};

struct allocator {
	uint64_t pool, count;
	uint8_t device, pooled;
	int listed;
	struct entry largest[LARGEST]; /* the largest first */
};

static struct {
	int count;
	uint64_t when;
	int default_count;
	uint64_t defaults[DEVICES];
	struct allocator list[ALLOCATORS];
} survey;

static struct allocator *find(int device, int pooled, uint64_t pool)
{
	for (int i = 0; i < survey.count; i++) {
		struct allocator *allocator = &survey.list[i];
		if (allocator->device == device && allocator->pooled == pooled && allocator->pool == pool)
			return allocator;
	}
	return NULL;
}

static void see(const struct entry *entry, void *argument)
{
	(void)argument;
	int pooled = entry->kind == POOLED;
	if (entry->kind != RAW && !pooled)
		return;
	/* Allocations that name no pool come from the default one, which may be named as well. */
	uint64_t pool = entry->pool;
	for (int i = 0; pool && i < survey.default_count; i++)
		if (survey.defaults[i] == pool)
			pool = 0;
	struct allocator *allocator = find(entry->device, pooled, pool);
	if (!allocator && survey.count < ALLOCATORS) {
		allocator = &survey.list[survey.count++];
		*allocator = (struct allocator){ .pool = pool, .device = entry->device, .pooled = (uint8_t)pooled };
	}
	if (!allocator)
		return;
	allocator->count++;
	int place = allocator->listed;
	while (place > 0 && allocator->largest[place - 1].size < entry->size)
		place--;
	if (place == LARGEST)
		return;
	if (allocator->listed < LARGEST)
		allocator->listed++;
	memmove(&allocator->largest[place + 1], &allocator->largest[place],
	        (size_t)(allocator->listed - 1 - place) * sizeof(struct entry));
	allocator->largest[place] = *entry;
}

void survey_refresh(uint64_t live)
{
	uint64_t now = milliseconds();
	if (live > MANY && survey.when && now - survey.when < SELDOM)
		return;
	survey.when = now;
	survey.count = 0;
	survey.default_count = pools_default(survey.defaults);
	ledger_walk(&books.ledger, see, NULL);
	vmm_walk(see, NULL);
}

/* The file whose code made a call: its name alone. */
static const char *library_of(uint64_t caller)
{
	Dl_info info;
	if (!caller || !dladdr((const void *)(uintptr_t)caller, &info) || !info.dli_fname)
		return NULL;
	const char *slash = strrchr(info.dli_fname, '/');
	return slash ? slash + 1 : info.dli_fname;
}

void survey_report(struct text *text, int device, int pooled, uint64_t pool)
{
	const struct allocator *allocator = find(device, pooled, pool);
	if (!allocator)
		return;
	uint32_t now = deciseconds();
	text_add(text, ",\"blocks\":%llu,\"largest\":[", (unsigned long long)allocator->count);
	for (int i = 0; i < allocator->listed; i++) {
		const struct entry *entry = &allocator->largest[i];
		uint32_t age = now - entry->since;
		const char *library = library_of(entry->caller);
		text_add(text, "%s{\"bytes\":%llu,\"age_seconds\":%u.%u,\"api\":\"%s\"", i ? "," : "",
		         (unsigned long long)entry->size, age / 10, age % 10, api_name(entry->api));
		if (library && *library) {
			text_add(text, ",\"library\":");
			text_quote(text, library);
		}
		text_add(text, "}");
	}
	text_add(text, "]");
}

void survey_forget(void)
{
	survey.count = 0;
	survey.when = 0;
}

/*
 * The number of allocations in each allocator, and the largest of them. This
 * visits all entries; if there are many, only every ten seconds.
 */
#define _GNU_SOURCE
#include "serve.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>

enum {
	LARGEST = 8,
	ALLOCATORS = 256,
	ORIGINS = 128,           /* if so many places have allocated, the sums are left out: there may be more places */
	MANY = 1 << 16,          /* up to this many entries are visited each time */
	SELDOM = 10 * 1000,      /* more than MANY are visited once in this many milliseconds */
};

struct allocator {
	uint64_t pool, count;
	uint8_t device, pooled;
	int listed;
	struct entry largest[LARGEST]; /* the largest first */
};

/* The bytes outside of pools that one place in the code has allocated. */
struct origin_sum {
	uint64_t caller, bytes;
	uint8_t device;
};

static struct {
	int count;
	uint64_t when;
	int default_count;
	uint64_t defaults[DEVICES];
	struct allocator list[ALLOCATORS];
	int origin_count;
	struct origin_sum origins[ORIGINS];
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

static void add_to_origin(const struct entry *entry)
{
	int i = 0;
	while (i < survey.origin_count && (survey.origins[i].caller != entry->caller || survey.origins[i].device != entry->device))
		i++;
	if (i == ORIGINS)
		return;
	if (i == survey.origin_count)
		survey.origins[survey.origin_count++] = (struct origin_sum){ .caller = entry->caller, .device = entry->device };
	survey.origins[i].bytes += entry->size;
}

static void see(const struct entry *entry, void *argument)
{
	(void)argument;
	int pooled = entry->kind == POOLED;
	if (entry->kind != RAW && !pooled)
		return;
	if (!pooled)
		add_to_origin(entry);
	/* The default pool is counted under 0, named or not. */
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
	survey.count = survey.origin_count = 0;
	survey.default_count = pools_default(survey.defaults);
	ledger_walk(&process.ledger, see, NULL);
	vmm_walk(see, NULL);
}

/* A code address, and the name of its file. */
struct origin {
	uint64_t caller;
	char name[256];
};

static int see_object(struct dl_phdr_info *object, size_t size, void *argument)
{
	struct origin *origin = argument;
	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		if (part->p_type != PT_LOAD || origin->caller - (object->dlpi_addr + part->p_vaddr) >= part->p_memsz)
			continue;
		const char *path = object->dlpi_name && *object->dlpi_name ? object->dlpi_name : program_invocation_short_name;
		const char *slash = strrchr(path, '/');
		snprintf(origin->name, sizeof origin->name, "%s", slash ? slash + 1 : path);
		return 1;
	}
	return 0;
}

/*
 * Finds the file of the calling code. The name is copied under the loader's lock:
 * dladdr's answer is freed when the program closes that library.
 */
static void find_origin(struct origin *origin)
{
	origin->name[0] = 0;
	if (origin->caller)
		(void)dl_iterate_phdr(see_object, origin); /* generated code has no name */
}

void origin_report(struct text *text, uint64_t caller)
{
	struct origin origin = { .caller = caller };
	find_origin(&origin);
	if (*origin.name) {
		text_add(text, ",\"library\":");
		text_quote(text, origin.name);
	}
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
		text_add(text, "%s{\"bytes\":%llu,\"age_seconds\":%u.%u,\"api\":\"%s\"", i ? "," : "",
		         (unsigned long long)entry->size, age / 10, age % 10, api_name(entry->api));
		origin_report(text, entry->caller);
		text_add(text, "}");
	}
	text_add(text, "]");
}

void survey_origins(struct text *text, int device)
{
	const char *comma = "";
	if (survey.origin_count == ORIGINS)
		return;
	text_add(text, ",\"libraries\":[");
	for (int i = 0; i < survey.origin_count; i++) {
		struct origin origin = { .caller = survey.origins[i].caller };
		if (survey.origins[i].device != device)
			continue;
		find_origin(&origin);
		text_add(text, "%s{\"library\":", comma);
		text_quote(text, origin.name);
		text_add(text, ",\"bytes\":%llu}", (unsigned long long)survey.origins[i].bytes);
		comma = ",";
	}
	text_add(text, "]");
}

void survey_reset(void)
{
	survey.count = survey.origin_count = 0;
	survey.when = 0;
}

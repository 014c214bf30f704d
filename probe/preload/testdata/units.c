/*
 * Unit tests under sanitizers: random changes from one thread, compared with a plain
 * model, and from many threads; and requests that are almost JSON. Memory comes from
 * malloc, so that the sanitizers see every access.
 */
#define _GNU_SOURCE
#include "shim.h"
#include "text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int serving = 1;

void serve_start(void) {}

void *pages_alloc(size_t size)
{
	return calloc(1, size);
}

void pages_free(void *memory, size_t size)
{
	(void)size;
	free(memory);
}

static void check(int holds, const char *what, int line)
{
	if (holds)
		return;
	fprintf(stderr, "line %d: failed: %s\n", line, what);
	exit(1);
}
#define CHECK(condition) check(condition, #condition, __LINE__)

enum { ADDRESSES = 3000, CHANGES = 200000 };

static uint64_t address_of(unsigned int i)
{
	return (1ULL << 42) + (uint64_t)i * (2 << 20);
}

static uint64_t total(struct ledger *ledger, enum kind kind, uint64_t *count)
{
	static struct sums sums;
	uint64_t bytes = 0;
	*count = 0;
	ledger_sum(ledger, &sums);
	for (int device = 0; device <= DEVICES; device++) {
		bytes += sums.of[kind][device].bytes;
		*count += sums.of[kind][device].count;
	}
	return bytes;
}

static int is_odd(const struct entry *entry, const void *argument)
{
	(void)argument;
	return entry->device % 2;
}

static void add_up(const struct entry *entry, void *argument)
{
	*(uint64_t *)argument += entry->size;
}

/* The model is the sizes by address; 0: none. */
static void against_a_model(void)
{
	static struct ledger ledger;
	static uint64_t model[ADDRESSES];
	static uint8_t where[ADDRESSES];
	uint64_t bytes = 0, count = 0, counted, walked = 0;
	unsigned int seed = 1;
	for (int change = 0; change < CHANGES; change++) {
		unsigned int i = (unsigned int)rand_r(&seed) % ADDRESSES, action = (unsigned int)rand_r(&seed) % 100;
		struct entry entry = { .address = address_of(i), .size = (uint64_t)rand_r(&seed) + 1, .kind = RAW,
			               .device = (uint8_t)(action % 5 == 4 ? NOWHERE : action % 5) }, taken;
		if (action < 55) {
			bytes += entry.size - model[i];
			count += model[i] == 0;
			model[i] = entry.size;
			where[i] = entry.device;
			ledger_add(&ledger, &entry);
		} else if (action < 97) {
			int there = ledger_take(&ledger, entry.address, &taken);
			CHECK(there == (model[i] != 0));
			CHECK(!there || (taken.size == model[i] && taken.device == where[i]));
			bytes -= model[i];
			count -= model[i] != 0;
			model[i] = 0;
		} else if (model[i]) {
			entry.size = model[i];
			ledger_place(&ledger, &entry, 7);
			where[i] = 7;
		}
		if (change % (CHANGES / 8) == CHANGES / 8 - 1) {
			ledger_drop(&ledger, is_odd, NULL);
			for (unsigned int k = 0; k < ADDRESSES; k++)
				if (model[k] && where[k] % 2) {
					bytes -= model[k];
					count--;
					model[k] = 0;
				}
		}
	}
	CHECK(total(&ledger, RAW, &counted) == bytes && counted == count);
	ledger_walk(&ledger, add_up, &walked);
	CHECK(walked == bytes);
	for (unsigned int i = 0; i < ADDRESSES; i++) {
		struct entry taken;
		CHECK(ledger_take(&ledger, address_of(i), &taken) == (model[i] != 0));
	}
	CHECK(total(&ledger, RAW, &counted) == 0 && counted == 0);
}

enum { THREADS = 6, ROUNDS = 15000, KEPT = 200 };
static struct ledger shared;

/* Threads have separate addresses, but share shards. */
static void *change_shared(void *argument)
{
	unsigned int self = (unsigned int)(uintptr_t)argument, seed = self;
	for (int round = 0; round < ROUNDS; round++) {
		unsigned int i = (unsigned int)rand_r(&seed) % KEPT;
		struct entry entry = { .address = address_of(self * KEPT + i), .size = 1000 + i, .kind = POOLED, .device = (uint8_t)self }, taken;
		if (ledger_take(&shared, entry.address, &taken))
			CHECK(taken.size == entry.size && taken.device == self);
		else
			ledger_add(&shared, &entry);
	}
	return NULL;
}

static int done;

static void *watch_shared(void *argument)
{
	uint64_t counted, walked = 0;
	(void)argument;
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE)) {
		(void)total(&shared, POOLED, &counted);
		ledger_walk(&shared, add_up, &walked);
		struct sum sums[DEVICES];
		vmm_sum(sums);
		vmm_walk(add_up, &walked);
		struct pool list[POOLS];
		int count = pools_of(1, NULL, list);
		for (int i = 0; i < count; i++)
			if (pool_hold(list[i].handle))
				pool_release(list[i].handle);
		(void)device_in_use(1);
	}
	return NULL;
}

/* Meanwhile creates and destroys contexts, pools and memory without an address. */
static void *change_objects(void *argument)
{
	unsigned int self = (unsigned int)(uintptr_t)argument;
	for (uintptr_t round = 0; round < 1500; round++) {
		uintptr_t handle = (self + 1) << 20 | (round % 50 + 1) << 4;
		struct pool was;
		context_made((CUcontext)handle, 1);
		CHECK(place_now().device == 1);
		struct entry entry = { .address = handle << 8, .size = 5, .kind = RAW, .device = 1, .context = place_now().context, .epoch = place_now().epoch };
		ledger_add(&process.ledger, &entry);
		context_ended(context_ending((CUcontext)handle), 1);
		CHECK(place_now().device == NOWHERE);
		CHECK(!ledger_take(&process.ledger, handle << 8, &entry));
		pool_made((CUmemoryPool)handle, 1);
		CHECK(pool_ending((CUmemoryPool)handle, &was));
		vmm_created(handle, 4096, 1, 0);
		vmm_mapped(handle << 12, 4096, handle);
		struct physical released = vmm_releasing(handle);
		vmm_release_failed(&released);
		(void)vmm_releasing(handle);
		vmm_unmapped(handle << 12, 4096);
		capture_begun((CUstream)handle);
		capture_ended((CUstream)handle);
	}
	return NULL;
}

static void from_many_threads(void)
{
	pthread_t changing[THREADS], objects[2], watching;
	uint64_t counted;
	struct sum sums[DEVICES];
	pthread_create(&watching, NULL, watch_shared, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&changing[i], NULL, change_shared, (void *)i);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&objects[i], NULL, change_objects, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(changing[i], NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(objects[i], NULL);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	pthread_join(watching, NULL);
	for (unsigned int i = 0; i < THREADS * KEPT; i++) {
		struct entry taken;
		(void)ledger_take(&shared, address_of(i), &taken);
	}
	CHECK(total(&shared, POOLED, &counted) == 0 && counted == 0);
	CHECK(total(&process.ledger, RAW, &counted) == 0 && counted == 0);
	vmm_sum(sums);
	CHECK(sums[1].bytes == 0 && sums[1].count == 0);
	CHECK(captures_running() == 0);
}

static void almost_json(void)
{
	static const char *const lines[] = {
		"{\"id\":1,\"cmd\":\"flush\",\"level\":\"urgent\",\"keep_bytes\":12,\"dry_run\":true,\"devices\":[\"GPU-1\",\"MIG-2\"]}",
		"{\"id\":7,\"cmd\":\"st\\u0061ts\",\"x\":{\"y\":[1,-2.5e+3,null,{\"z\":\"\\ud83d\\ude00\\\\\"}]},\"\\u0069d\":8}",
		"{ \"proto\" : \"vramscope/1.2\" , \"id\" : 9007199254740992 }",
	};
	static const char noise[] = "{}[]\",:\\u0eE-.\x80\xed\n 9";
	unsigned int seed = 3;
	struct request request;
	char text[16];
	uint64_t id;
	CHECK(!json_request(lines[1], strlen(lines[1]), &request) && json_integer(request.id, UINT64_MAX, &id) && id == 8);
	CHECK(json_string(request.cmd, text, sizeof text) && strcmp(text, "stats") == 0);
	for (int round = 0; round < 60000; round++) {
		const char *line = lines[round % 3];
		size_t length = strlen(line);
		char *copy = malloc(length); /* exact size, to catch reads beyond the end */
		memcpy(copy, line, length);
		for (int i = (int)((unsigned int)rand_r(&seed) % 4); i > 0; i--)
			copy[(unsigned int)rand_r(&seed) % length] = noise[(unsigned int)rand_r(&seed) % (sizeof noise - 1)];
		length -= (unsigned int)rand_r(&seed) % 3 == 0 ? (unsigned int)rand_r(&seed) % length : 0;
		if (!json_request(copy, length, &request)) {
			size_t at = 0;
			int value;
			(void)json_integer(request.keep_bytes, 1 << 20, &id);
			(void)json_bool(request.dry_run, &value);
			(void)json_string(request.proto, text, sizeof text);
			while (json_present(request.devices) && json_next_string(request.devices, &at, text, sizeof text) > 0)
				;
		}
		free(copy);
	}
}

int main(void)
{
	against_a_model();
	almost_json();
	from_many_threads();
	printf("ready\n");
	return 0;
}

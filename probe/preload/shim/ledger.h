/*
 * The process's allocations: address → size, device, call, time, caller. Sums by
 * device are kept too, so that a sum of a million allocations costs no more than
 * one of ten.
 *
 * The ledger is sharded by address. A shard's lock is held for one table access, or
 * for one walk over the shard, and never across a driver call.
 */
#ifndef VRAMSCOPE_PRELOAD_LEDGER_H
#define VRAMSCOPE_PRELOAD_LEDGER_H

#include "lock.h"
#include "table.h"

enum {
	DEVICES = 64,
	NOWHERE = DEVICES, /* device unknown, so far */
	SHARDS = 16, /* few enough that the tables of 200,000 allocations are in huge pages: pages.c */
};

enum kind {
	RAW = 1,  /* cuMemAlloc and the like: counts in full */
	POOLED,   /* from a pool, whose reserved bytes count instead */
	MANAGED,  /* moves between host and devices: reported as a part of its own */
	IMPORTED, /* another process's: listed, not counted */
	KINDS,
};

enum api {
	API_NONE,
	API_ALLOC,
	API_ALLOC_PITCH,
	API_ALLOC_MANAGED,
	API_ALLOC_ASYNC,
	API_ALLOC_FROM_POOL,
	API_CREATE,
	API_IPC_OPEN,
	APIS,
};
const char *api_name(enum api api);

struct entry {
	uint64_t address;
	uint64_t size;
	uint64_t caller; /* return address in the calling code */
	uint64_t pool;   /* handle, if pooled; 0: the default pool, or unknown */
	uint32_t since;  /* deciseconds of the monotonic clock */
	uint16_t context, epoch; /* at its allocation: contexts.c */
	uint8_t kind, api, device;
	uint8_t unused[21]; /* fills a cache line, so that no entry lies in two */
};

struct sum {
	uint64_t bytes, count;
};

struct sums {
	struct sum of[KINDS][DEVICES + 1];
};

struct shard {
	struct lock lock;
	struct table table;
	struct sums sums;
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct entry) == 64, "an entry is a cache line");

struct ledger {
	struct shard shards[SHARDS];
};

/* In a forked child: empties it, whatever state its locks are in. */
void ledger_reset(struct ledger *ledger);

/* Prefetches the place of an address's entry: the access to memory is the slowest part of adding
 * or removing an entry. */
void ledger_expect(struct ledger *ledger, uint64_t address);
/* Adds an entry, in place of one with the same address: that was freed by a call that is not hooked. */
void ledger_add(struct ledger *ledger, const struct entry *entry);
/* Removes an entry; 0: there was none. */
int ledger_take(struct ledger *ledger, uint64_t address, struct entry *taken);
/* Sets the device of an entry, if the entry has not changed. */
void ledger_place(struct ledger *ledger, const struct entry *entry, uint8_t device);

void ledger_sum(struct ledger *ledger, struct sums *sums);
/* Removes every entry that picks selects. */
void ledger_drop(struct ledger *ledger, int (*picks)(const struct entry *entry, const void *argument), const void *argument);
/* Calls see for each entry, under a shard's lock: it must be fast and must not use the ledger. */
void ledger_walk(struct ledger *ledger, void (*see)(const struct entry *entry, void *argument), void *argument);

#endif

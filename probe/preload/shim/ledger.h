/*
 * What a process has allocated: address → how much, where, by which call,
 * since when, for whom. Sums by device are kept beside it, so that a report
 * costs the same whether there are ten allocations or a million.
 *
 * It is divided into shards by address, each with a lock of its own, which is
 * held for one look into a table and never while the driver is called.
 */
#ifndef VRAMSCOPE_PRELOAD_LEDGER_H
#define VRAMSCOPE_PRELOAD_LEDGER_H

#include "lock.h"
#include "table.h"

enum {
	DEVICES = 64,
	NOWHERE = DEVICES, /* allocated on a device that is not known (yet) */
	SHARDS = 64,
};

enum kind {
	RAW = 1,  /* cuMemAlloc: its size is the process's */
	POOLED,   /* of a pool, which is what has taken it of the driver */
	MANAGED,  /* moves between host and devices: listed, never counted */
	IMPORTED, /* another process's */
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
	uint64_t caller; /* an address inside of the code that called */
	uint64_t pool;   /* handle of a pooled one's; 0: not known */
	uint32_t since;  /* deciseconds of the monotonic clock */
	uint16_t context, epoch; /* in which it was allocated: contexts.c */
	uint8_t kind, api, device;
};

struct sum {
	uint64_t bytes, count;
};

struct sums {
	struct sum of[KINDS][DEVICES + 1];
};

struct shard {
	pthread_mutex_t lock;
	struct table table;
	struct sums sums;
} __attribute__((aligned(64)));

struct ledger {
	struct shard shards[SHARDS];
};

void ledger_init(struct ledger *ledger);
/* In a forked child: nothing of it is the child's, whatever state its locks are in. */
void ledger_forget(struct ledger *ledger);

/* An address that is there already was freed in a way that nobody told of: the new entry takes its place. */
void ledger_add(struct ledger *ledger, const struct entry *entry);
/* Takes an entry out; 0: there is none. */
int ledger_take(struct ledger *ledger, uint64_t address, struct entry *taken);
/* Says where an entry is after all, if it is still the same one. */
void ledger_place(struct ledger *ledger, const struct entry *entry, uint8_t device);

void ledger_sum(struct ledger *ledger, struct sums *sums);
/* Removes every entry that the function picks. */
void ledger_drop(struct ledger *ledger, int (*picks)(const struct entry *entry, const void *argument), const void *argument);
/* Shows entries under a shard's lock: the function must be quick and must not come back here. */
void ledger_walk(struct ledger *ledger, void (*see)(const struct entry *entry, void *argument), void *argument);

#endif

#include "ledger.h"

#define WIDTH sizeof(struct entry)

const char *api_name(enum api api)
{
	static const char *const names[APIS] = {
		[API_NONE] = "",
		[API_ALLOC] = "cuMemAlloc",
		[API_ALLOC_PITCH] = "cuMemAllocPitch",
		[API_ALLOC_MANAGED] = "cuMemAllocManaged",
		[API_ALLOC_ASYNC] = "cuMemAllocAsync",
		[API_ALLOC_FROM_POOL] = "cuMemAllocFromPoolAsync",
		[API_CREATE] = "cuMemCreate",
		[API_IPC_OPEN] = "cuIpcOpenMemHandle",
	};
	return api < APIS ? names[api] : "";
}

void ledger_reset(struct ledger *ledger)
{
	/* The parent may have been changing the tables when it forked: they are not touched, their pages leak. */
	memset(ledger, 0, sizeof *ledger);
}

/* Addresses are multiples of 512 bytes, mostly of 2 MiB, so they are hashed. The table uses the hash's low bits. */
static struct shard *shard_of(struct ledger *ledger, uint64_t address)
{
	return &ledger->shards[table_hash(address) >> 60];
}

/* Without the lock: if the table is being replaced, the wrong address is fetched, which is harmless. */
__attribute__((no_sanitize("thread"))) void ledger_expect(struct ledger *ledger, uint64_t address)
{
	const volatile struct table *table = &shard_of(ledger, address)->table;
	size_t index = table_hash(address) & (table->capacity - 1);
	__builtin_prefetch((const void *)((uintptr_t)table->records + index * WIDTH), 1);
}

static struct sum *sum_of(struct shard *shard, const struct entry *entry)
{
	return &shard->sums.of[entry->kind][entry->device];
}

static void count(struct shard *shard, const struct entry *entry)
{
	sum_of(shard, entry)->bytes += entry->size;
	sum_of(shard, entry)->count++;
}

static void uncount(struct shard *shard, const struct entry *entry)
{
	sum_of(shard, entry)->bytes -= entry->size;
	sum_of(shard, entry)->count--;
}

void ledger_add(struct ledger *ledger, const struct entry *entry)
{
	struct shard *shard = shard_of(ledger, entry->address);
	stats_lock(&shard->lock);
	struct entry *place = table_put(&shard->table, WIDTH, entry->address);
	if (place) {
		if (place->kind)
			uncount(shard, place);
		*place = *entry;
		count(shard, place);
	}
	stats_unlock(&shard->lock);
}

int ledger_take(struct ledger *ledger, uint64_t address, struct entry *taken)
{
	struct shard *shard = shard_of(ledger, address);
	stats_lock(&shard->lock);
	struct entry *found = table_find(&shard->table, WIDTH, address);
	if (found) {
		*taken = *found;
		uncount(shard, found);
		table_remove(&shard->table, WIDTH, found);
	}
	stats_unlock(&shard->lock);
	return found != NULL;
}

void ledger_place(struct ledger *ledger, const struct entry *entry, uint8_t device)
{
	struct shard *shard = shard_of(ledger, entry->address);
	stats_lock(&shard->lock);
	struct entry *found = table_find(&shard->table, WIDTH, entry->address);
	if (found && found->size == entry->size && found->caller == entry->caller && found->since == entry->since) {
		uncount(shard, found);
		found->device = device;
		count(shard, found);
	}
	stats_unlock(&shard->lock);
}

void ledger_sum(struct ledger *ledger, struct sums *sums)
{
	memset(sums, 0, sizeof *sums);
	for (int i = 0; i < SHARDS; i++) {
		struct shard *shard = &ledger->shards[i];
		stats_lock(&shard->lock);
		for (int kind = 0; kind < KINDS; kind++)
			for (int device = 0; device <= DEVICES; device++) {
				sums->of[kind][device].bytes += shard->sums.of[kind][device].bytes;
				sums->of[kind][device].count += shard->sums.of[kind][device].count;
			}
		stats_unlock(&shard->lock);
	}
}

static int has_any(const struct table *table, int (*picks)(const struct entry *entry, const void *argument), const void *argument)
{
	for (size_t at = 0; at < table->capacity; at++) {
		const struct entry *entry = (const struct entry *)(void *)table_at(table, WIDTH, at);
		if (entry->address && picks(entry, argument))
			return 1;
	}
	return 0;
}

void ledger_drop(struct ledger *ledger, int (*picks)(const struct entry *entry, const void *argument), const void *argument)
{
	for (int i = 0; i < SHARDS; i++) {
		struct shard *shard = &ledger->shards[i];
		stats_lock(&shard->lock);
		struct table kept = { 0 };
		/* The other entries are copied to a new table: a removal could move an entry to where the loop has been. */
		int moved = has_any(&shard->table, picks, argument) && table_resize(&kept, WIDTH, shard->table.capacity);
		for (size_t at = 0; moved && at < shard->table.capacity; at++) {
			const struct entry *entry = (const struct entry *)(void *)table_at(&shard->table, WIDTH, at);
			if (entry->address == 0)
				continue;
			if (picks(entry, argument))
				uncount(shard, entry);
			else
				*(struct entry *)table_put(&kept, WIDTH, entry->address) = *entry;
		}
		if (moved) {
			table_empty(&shard->table, WIDTH);
			shard->table = kept;
		}
		stats_unlock(&shard->lock);
	}
}

void ledger_walk(struct ledger *ledger, void (*see)(const struct entry *entry, void *argument), void *argument)
{
	for (int i = 0; i < SHARDS; i++) {
		struct shard *shard = &ledger->shards[i];
		stats_lock(&shard->lock);
		for (size_t at = 0; at < shard->table.capacity; at++) {
			const struct entry *entry = (const struct entry *)(void *)table_at(&shard->table, WIDTH, at);
			if (entry->address)
				see(entry, argument);
		}
		stats_unlock(&shard->lock);
	}
}

#define _GNU_SOURCE
#include "ledger_file.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static number mix(number hash, const void *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3ULL; /* FNV-1a */
	return hash;
}

number ledger_key(const char *uuid)
{
	return mix(0xcbf29ce484222325ULL, uuid, strlen(uuid)) | 1;
}

/*
 * Identifies this program in this process: its pid and the random bytes that every
 * program gets at its start (AT_RANDOM), so that a process does not use the slot of
 * the program that it was before exec.
 */
static number identity(const struct ledger *ledger)
{
	pid_t pid = getpid();
	number own = mix(ledger_key("process"), &pid, sizeof pid);
	own = mix(own, &ledger->space, sizeof ledger->space);
	const void *random = (const void *)getauxval(AT_RANDOM);
	return (random ? mix(own, random, 16) : own) | 1;
}

static int lock(const struct ledger *ledger, size_t index, short type)
{
	struct flock range = { .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)index, .l_len = 1 };
	return fcntl(ledger->file, F_SETLK, &range) == 0;
}

/* The pid of a slot's process, 0 if it has ended. */
static number living(const struct ledger *ledger, size_t index, number self)
{
	const struct slot *slot = &ledger->contents->slot[index];
	if (slot->owner == self)
		return slot->pid;
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)index, .l_len = 1 };
	if (fcntl(ledger->file, F_GETLK, &range) != 0 || range.l_type == F_UNLCK)
		return 0;
	/* A process that has just locked the slot of an ended process may not have cleared it yet. */
	if (slot->space == ledger->space && slot->pid != (number)range.l_pid)
		return 0;
	return range.l_pid > 0 ? (number)range.l_pid : slot->pid;
}

static void clear(struct slot *slot)
{
	slot->owner = 0;
	for (size_t i = 0; i < ENTRIES; i++)
		slot->entries[i].key = slot->entries[i].used = slot->entries[i].claim = 0;
}

static size_t slot_count(const struct ledger *ledger)
{
	number count = ledger->contents->slots;
	return count < SLOTS ? (size_t)count : SLOTS;
}

static struct slot *join(struct ledger *ledger)
{
	number self = identity(ledger);
	for (size_t i = 0; i < SLOTS; i++) {
		if (!lock(ledger, i, F_WRLCK))
			continue;
		struct slot *slot = &ledger->contents->slot[i];
		clear(slot);
		slot->pid = (number)getpid();
		slot->space = ledger->space;
		slot->owner = self;
		number count = ledger->contents->slots;
		while (count <= i && !atomic_compare_exchange_weak(&ledger->contents->slots, &count, i + 1))
			;
		return slot;
	}
	fprintf(stderr, "fake driver: more than %d processes hold GPU memory\n", SLOTS);
	return NULL;
}

/* Clears the slots of ended processes, each under the slot's lock. */
static int bury(struct ledger *ledger)
{
	int buried = 0;
	number self = identity(ledger);
	for (size_t i = 0; i < slot_count(ledger); i++) {
		struct slot *slot = &ledger->contents->slot[i];
		if (slot->owner == 0 || slot->owner == self || !lock(ledger, i, F_WRLCK))
			continue;
		clear(slot);
		lock(ledger, i, F_UNLCK);
		buried++;
	}
	return buried;
}

/* The entry of a GPU; NULL if there is none. */
static const struct entry *find(const struct slot *slot, number key)
{
	for (size_t i = 0; i < ENTRIES && slot->entries[i].key; i++)
		if (slot->entries[i].key == key)
			return &slot->entries[i];
	return NULL;
}

static struct entry *find_or_add(struct slot *slot, number key)
{
	for (size_t i = 0; i < ENTRIES; i++) {
		if (slot->entries[i].key == 0)
			slot->entries[i].key = key;
		if (slot->entries[i].key == key)
			return &slot->entries[i];
	}
	return NULL;
}

/* Returns what all slots hold and claim, including those of ended processes. */
static number count(const struct ledger *ledger, number key, number *claims)
{
	number used = 0;
	*claims = 0;
	size_t slots = slot_count(ledger);
	for (size_t i = 0; i < slots; i++) {
		const struct entry *entry = find(&ledger->contents->slot[i], key);
		if (!entry)
			continue;
		/* Claims first: a claim that succeeds is added to used before it is cleared. */
		*claims += entry->claim;
		used += entry->used;
	}
	return used;
}

/*
 * A process publishes its claim, then reads the claims of the others. So of two
 * processes that race at least one sees the other's claim. A process that sees more
 * than the capacity withdraws its claim, and tries again as long as another claim may
 * still be withdrawn. It waits only a moment for a process that was stopped in the
 * middle of a claim.
 */
int ledger_take(struct ledger *ledger, number key, number bytes, number capacity)
{
	if (!ledger->own && !(ledger->own = join(ledger)))
		return 0;
	struct entry *entry = find_or_add(ledger->own, key);
	if (!entry || bytes > capacity)
		return 0;
	for (int attempt = 0; attempt < 200; attempt++) {
		number claims;
		entry->claim = bytes;
		number used = count(ledger, key, &claims);
		if (used + claims <= capacity) {
			entry->used += bytes;
			entry->claim = 0;
			return 1;
		}
		entry->claim = 0;
		if (attempt > 0 && claims == bytes)
			return 0;
		if (attempt > 0 || !bury(ledger)) {
			if (claims == bytes)
				return 0;
			/* Processes that race wait for different times. */
			for (ptrdiff_t i = (ledger->own - ledger->contents->slot) % 16; i >= 0; i--)
				sched_yield();
		}
	}
	return 0;
}

void ledger_give(struct ledger *ledger, number key, number bytes)
{
	struct entry *entry = ledger->own ? find_or_add(ledger->own, key) : NULL;
	if (entry)
		entry->used -= bytes;
}

number ledger_held(const struct ledger *ledger, number key)
{
	number held = 0, self = identity(ledger);
	for (size_t i = 0; i < slot_count(ledger); i++) {
		const struct entry *entry = find(&ledger->contents->slot[i], key);
		number used = entry ? entry->used : 0;
		if (used && living(ledger, i, self))
			held += used;
	}
	return held;
}

size_t ledger_list(const struct ledger *ledger, number key, struct holder **holders)
{
	size_t listed = 0, slots = slot_count(ledger);
	number self = identity(ledger);
	*holders = calloc(slots + 1, sizeof **holders);
	for (size_t i = 0; *holders && i < slots; i++) {
		const struct entry *entry = find(&ledger->contents->slot[i], key);
		number used = entry ? entry->used : 0, pid;
		if (used && (pid = living(ledger, i, self)))
			(*holders)[listed++] = (struct holder){ .pid = pid, .used = used };
	}
	return listed;
}

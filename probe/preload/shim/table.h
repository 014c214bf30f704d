/*
 * A hash table from a nonzero number to a record that begins with it: open
 * addressing, linear probing, deletion by backward shift. Memory comes from the
 * kernel, because the program's malloc may itself allocate with CUDA. The
 * record width is a constant at every call, so that the compiler specialises
 * each table. The table has no lock.
 */
#ifndef VRAMSCOPE_PRELOAD_TABLE_H
#define VRAMSCOPE_PRELOAD_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct table {
	char *records;
	size_t capacity, count; /* capacity: a power of two, or 0 */
};

/* pages.c: zeroed memory from the kernel, or NULL. errno is preserved. */
void *pages_alloc(size_t size);
void pages_free(void *memory, size_t size);

enum { TABLE_FIRST = 64 };

static inline uint64_t table_hash(uint64_t key)
{
	key *= 0x9e3779b97f4a7c15ULL;
	return key ^ key >> 29;
}

static inline uint64_t *table_at(const struct table *table, size_t width, size_t index)
{
	return (uint64_t *)(void *)(table->records + index * width);
}

/* The index of a key, present or not. */
static inline size_t table_probe(const struct table *table, size_t width, uint64_t key)
{
	size_t mask = table->capacity - 1, index = table_hash(key) & mask;
	while (*table_at(table, width, index) != 0 && *table_at(table, width, index) != key)
		index = (index + 1) & mask;
	return index;
}

static inline void *table_find(const struct table *table, size_t width, uint64_t key)
{
	if (table->count == 0 || key == 0)
		return NULL;
	uint64_t *found = table_at(table, width, table_probe(table, width, key));
	return *found ? found : NULL;
}

/* 0: out of memory; the table is unchanged. */
static inline int table_resize(struct table *table, size_t width, size_t capacity)
{
	struct table larger = { .records = pages_alloc(capacity * width), .capacity = capacity, .count = table->count };
	if (!larger.records)
		return 0;
	for (size_t i = 0; i < table->capacity; i++) {
		const uint64_t *record = table_at(table, width, i);
		if (*record)
			memcpy(table_at(&larger, width, table_probe(&larger, width, *record)), record, width);
	}
	if (table->records)
		pages_free(table->records, table->capacity * width);
	*table = larger;
	return 1;
}

/* The record of a key, added zeroed if missing; NULL: out of memory. */
static inline void *table_put(struct table *table, size_t width, uint64_t key)
{
	if (key == 0)
		return NULL;
	if (table->count * 4 >= table->capacity * 3 &&
	    !table_resize(table, width, table->capacity ? table->capacity * 2 : TABLE_FIRST) &&
	    table->count + 1 >= table->capacity)
		return NULL;
	uint64_t *record = table_at(table, width, table_probe(table, width, key));
	if (*record == 0) {
		*record = key;
		table->count++;
	}
	return record;
}

/* Removes a record that table_find or table_put returned. All others may move. */
static inline void table_remove(struct table *table, size_t width, void *record)
{
	size_t mask = table->capacity - 1, hole = (size_t)((char *)record - table->records) / width;
	for (size_t next = (hole + 1) & mask; *table_at(table, width, next) != 0; next = (next + 1) & mask) {
		size_t home = table_hash(*table_at(table, width, next)) & mask;
		if (((next - home) & mask) < ((next - hole) & mask))
			continue; /* a record must not move before its home index */
		memcpy(table_at(table, width, hole), table_at(table, width, next), width);
		hole = next;
	}
	memset(table_at(table, width, hole), 0, width);
	table->count--;
	/* Shrinks after a peak, leaving room to grow before the next resize. */
	if (table->capacity > 16 * TABLE_FIRST && table->count * 8 < table->capacity)
		(void)table_resize(table, width, table->capacity / 2);
}

/* Empties the table and frees its memory. */
static inline void table_empty(struct table *table, size_t width)
{
	if (table->records)
		pages_free(table->records, table->capacity * width);
	*table = (struct table){ 0 };
}

#endif

#include "books.h"

#include "driver.h"
#include "virtual.h"

static void count_allocations(const struct device *device, struct fake_books *books)
{
	for (struct node *node = tree_from(own.allocations, 0, 0); node; node = tree_from(own.allocations, node->key + 1, 0)) {
		const struct allocation *allocation = (const struct allocation *)node;
		if (allocation->device != device)
			continue;
		switch (allocation->kind) {
		case LINEAR:
		case SMALL:
			books->linear += allocation->size;
			books->linear_count++;
			break;
		case MANAGED:
			books->managed += allocation->size;
			books->managed_count++;
			break;
		case IMPORTED: books->imported_count++; break;
		case POOLED:
		case HOST:
		case RESERVED: break;
		}
	}
}

static void count_objects(const struct device *device, struct fake_books *books)
{
	for (const struct physical *physical = object_next(PHYSICAL, NULL); physical; physical = object_next(PHYSICAL, physical)) {
		if (physical->device != device || !physical->charged)
			continue;
		books->physical += physical->charged;
		books->physical_count++;
	}
	for (const struct CUmemPoolHandle_st *pool = object_next(POOL, NULL); pool; pool = object_next(POOL, pool)) {
		if (pool->arena.device != device)
			continue;
		if (pool == device->graph_pool) {
			books->graphs_reserved += pool->arena.reserved;
			continue;
		}
		books->pools_used += pool->used;
		books->pools_reserved += pool->arena.reserved;
	}
}

__attribute__((visibility("default"))) int fake_books(int ordinal, struct fake_books *books)
{
	struct call call;
	*books = (struct fake_books){ 0 };
	CUresult answer = call_begin(&call, "fake_books", INITIALISED);
	int found = answer == CUDA_SUCCESS && ordinal >= 0 && ordinal < own.device_count;
	if (found) {
		count_allocations(&own.devices[ordinal], books);
		count_objects(&own.devices[ordinal], books);
	}
	(void)call_end(&call, answer);
	return found;
}

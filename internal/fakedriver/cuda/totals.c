#include "totals.h"

#include "driver.h"
#include "virtual.h"

static void count_allocations(const struct device *device, struct fake_totals *totals)
{
	for (struct node *node = tree_from(own.allocations, 0, 0); node; node = tree_from(own.allocations, node->key + 1, 0)) {
		const struct allocation *allocation = (const struct allocation *)node;
		if (allocation->device != device)
			continue;
		switch (allocation->kind) {
		case LINEAR:
		case SMALL:
			totals->linear += allocation->size;
			totals->linear_count++;
			break;
		case MANAGED:
			totals->managed += allocation->size;
			totals->managed_count++;
			break;
		case IMPORTED: totals->imported_count++; break;
		case POOLED:
		case HOST:
		case REGISTERED:
		case RESERVED: break;
		}
	}
}

static void count_objects(const struct device *device, struct fake_totals *totals)
{
	for (const struct physical *physical = object_next(PHYSICAL, NULL); physical; physical = object_next(PHYSICAL, physical)) {
		if (physical->device != device || !physical->charged)
			continue;
		totals->physical += physical->charged;
		totals->physical_count++;
	}
	for (const struct CUmemPoolHandle_st *pool = object_next(POOL, NULL); pool; pool = object_next(POOL, pool)) {
		if (pool->arena.device != device)
			continue;
		if (pool == device->graph_pool) {
			totals->graphs_reserved += pool->arena.reserved;
			continue;
		}
		totals->pools_used += pool->used;
		totals->pools_reserved += pool->arena.reserved;
	}
}

__attribute__((visibility("default"))) int fake_totals(int ordinal, struct fake_totals *totals)
{
	struct call call;
	*totals = (struct fake_totals){ 0 };
	CUresult answer = call_begin(&call, "fake_totals", INITIALISED);
	int found = answer == CUDA_SUCCESS && ordinal >= 0 && ordinal < own.device_count;
	if (found) {
		count_allocations(&own.devices[ordinal], totals);
		count_objects(&own.devices[ordinal], totals);
	}
	(void)call_end(&call, answer);
	return found;
}

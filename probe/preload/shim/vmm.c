/*
 * Virtual memory management. The driver allocates memory in cuMemCreate, and frees
 * it when its last handle and its last mapping are gone:
 *
 *   handles: handle → number of a physical allocation ←── mappings: address → size, number
 *                              ↓
 *            physicals: number → size, device, handles, mappings
 *
 * An unknown handle is imported or of host memory: neither is counted. The last
 * release of a handle also forgets the handle, because the driver may reuse it.
 */
#include "shim.h"

struct handle {
	uint64_t handle, number;
};

struct mapping {
	uint64_t address, size, number;
};

static struct {
	struct lock lock;
	struct table handles, mappings, physicals;
	uint64_t last;
	struct sum sums[DEVICES];
} vmm;

static struct physical *physical_numbered(uint64_t number)
{
	return table_find(&vmm.physicals, sizeof(struct physical), number);
}

static struct physical *physical_of(CUmemGenericAllocationHandle handle)
{
	const struct handle *found = table_find(&vmm.handles, sizeof *found, handle);
	return found ? physical_numbered(found->number) : NULL;
}

void vmm_created(CUmemGenericAllocationHandle handle, size_t size, int device, uint64_t caller)
{
	if (device < 0 || device >= DEVICES)
		return;
	stats_lock(&vmm.lock);
	struct physical *physical = table_put(&vmm.physicals, sizeof *physical, ++vmm.last);
	struct handle *place = physical ? table_put(&vmm.handles, sizeof *place, handle) : NULL;
	if (place) {
		place->number = physical->number;
		physical->size = size;
		physical->handle = handle;
		physical->handles = 1;
		physical->device = (uint8_t)device;
		physical->since = deciseconds();
		physical->caller = caller;
		vmm.sums[device].bytes += size;
		vmm.sums[device].count++;
	} else if (physical) {
		table_remove(&vmm.physicals, sizeof *physical, physical);
	}
	stats_unlock(&vmm.lock);
}

/* Under the lock. */
static void free_if_unused(struct physical *physical)
{
	if (physical->handles > 0 || physical->mappings > 0)
		return;
	vmm.sums[physical->device].bytes -= physical->size;
	vmm.sums[physical->device].count--;
	table_remove(&vmm.physicals, sizeof *physical, physical);
}

void vmm_retained(CUmemGenericAllocationHandle handle, CUdeviceptr address)
{
	stats_lock(&vmm.lock);
	struct physical *physical = physical_of(handle);
	/* Released but still mapped: found by its address. */
	const struct mapping *mapping = physical ? NULL : table_find(&vmm.mappings, sizeof *mapping, address);
	struct handle *place = NULL;
	if (mapping && (physical = physical_numbered(mapping->number)))
		place = table_put(&vmm.handles, sizeof *place, handle);
	if (place)
		place->number = physical->number;
	if (physical) {
		physical->handle = handle;
		physical->handles++;
	}
	stats_unlock(&vmm.lock);
}

struct physical vmm_releasing(CUmemGenericAllocationHandle handle)
{
	struct physical was = { 0 };
	stats_lock(&vmm.lock);
	struct physical *physical = physical_of(handle);
	if (physical) {
		was = *physical;
		if (--physical->handles == 0) {
			void *place = table_find(&vmm.handles, sizeof(struct handle), handle);
			table_remove(&vmm.handles, sizeof(struct handle), place);
			free_if_unused(physical);
		}
	}
	stats_unlock(&vmm.lock);
	return was;
}

void vmm_release_failed(const struct physical *was)
{
	if (!was->number)
		return;
	stats_lock(&vmm.lock);
	struct physical *physical = table_put(&vmm.physicals, sizeof *physical, was->number);
	struct handle *place = table_put(&vmm.handles, sizeof *place, was->handle);
	if (place)
		place->number = was->number;
	if (physical && !physical->size) {
		*physical = *was;
		physical->handles = 0;
		vmm.sums[was->device].bytes += was->size;
		vmm.sums[was->device].count++;
	}
	if (physical)
		physical->handles++;
	stats_unlock(&vmm.lock);
}

void vmm_mapped(CUdeviceptr address, size_t size, CUmemGenericAllocationHandle handle)
{
	stats_lock(&vmm.lock);
	struct physical *physical = physical_of(handle);
	struct mapping *mapping = physical ? table_put(&vmm.mappings, sizeof *mapping, address) : NULL;
	if (mapping) {
		mapping->size = size;
		mapping->number = physical->number;
		physical->mappings++;
	}
	stats_unlock(&vmm.lock);
}

/*
 * Called after the real call: the addresses are reserved by the program, which
 * cannot map them again before this returns.
 */
void vmm_unmapped(CUdeviceptr address, size_t size)
{
	stats_lock(&vmm.lock);
	/* The range consists of whole mappings; unknown ones are skipped in steps of the smallest size. */
	const uint64_t smallest = 64 << 10;
	for (uint64_t at = address, end = address + size; at < end && vmm.mappings.count > 0;) {
		struct mapping *mapping = table_find(&vmm.mappings, sizeof *mapping, at);
		if (!mapping) {
			at += smallest;
			continue;
		}
		at += mapping->size ? mapping->size : smallest;
		struct physical *physical = physical_numbered(mapping->number);
		table_remove(&vmm.mappings, sizeof *mapping, mapping);
		if (physical) {
			physical->mappings--;
			free_if_unused(physical);
		}
	}
	stats_unlock(&vmm.lock);
}

void vmm_sum(struct sum sums[DEVICES])
{
	stats_lock(&vmm.lock);
	memcpy(sums, vmm.sums, sizeof vmm.sums);
	stats_unlock(&vmm.lock);
}

void vmm_walk(void (*see)(const struct entry *entry, void *argument), void *argument)
{
	stats_lock(&vmm.lock);
	for (size_t i = 0; i < vmm.physicals.capacity; i++) {
		const struct physical *physical = (const struct physical *)(void *)table_at(&vmm.physicals, sizeof *physical, i);
		if (!physical->number)
			continue;
		struct entry entry = {
			.address = physical->number, .size = physical->size, .caller = physical->caller,
			.since = physical->since, .device = physical->device, .kind = RAW, .api = API_CREATE,
		};
		see(&entry, argument);
	}
	stats_unlock(&vmm.lock);
}

void vmm_reset(void)
{
	/* The parent may have been changing the tables when it forked: their pages leak. */
	memset(&vmm, 0, sizeof vmm);
}

/* Virtual memory management: memory of a GPU without an address (physical.c), reserved addresses
 * without memory, and mapping one to the other.
 */
#include "virtual.h"

#include <stdint.h>
#include <stdlib.h>

struct mapping {
	struct node node; /* by address */
	number size;
	struct physical *physical;
	CUmemAccess_flags access[MAX_DEVICES];
};

CUresult cuMemAddressReserve(CUdeviceptr *pointer, size_t size, size_t alignment, CUdeviceptr wanted,
                             unsigned long long flags)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemAddressReserve", INITIALISED);
	if (answer == CUDA_SUCCESS && (!pointer || flags || size == 0 || size % PAGE || alignment & (alignment - 1)))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && (size > LARGEST || alignment > LARGEST))
		answer = CUDA_ERROR_OUT_OF_MEMORY;
	if (answer == CUDA_SUCCESS) {
		/* A wanted address is a hint. */
		struct block *block = wanted % PAGE == 0 && wanted ? space_take_at(&own.addresses, wanted, size) : NULL;
		if (!block)
			block = space_take(&own.addresses, size, alignment > PAGE ? alignment : PAGE);
		struct allocation *made = block ? allocation_add(block->address, size, RESERVED, NULL) : NULL;
		if (made) {
			made->block = block;
			*pointer = block->address;
		} else {
			if (block)
				space_give(&own.addresses, block);
			answer = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	return call_end(&call, answer);
}

CUresult cuMemAddressFree(CUdeviceptr pointer, size_t size)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemAddressFree", INITIALISED);
	if (answer == CUDA_SUCCESS) {
		struct allocation *reserved = allocation_find(pointer);
		if (!reserved || reserved->kind != RESERVED || reserved->size != size || reserved->mappings) {
			answer = CUDA_ERROR_INVALID_VALUE;
		} else {
			space_give(&own.addresses, reserved->block);
			allocation_forget(reserved);
		}
	}
	return call_end(&call, answer);
}

/* The reservation that contains a range. */
static struct allocation *reservation(CUdeviceptr pointer, number size)
{
	struct allocation *reserved = allocation_around(pointer);
	if (!reserved || reserved->kind != RESERVED || size == 0 || pointer % PAGE || size % PAGE)
		return NULL;
	return size <= reserved->size - (pointer - reserved->node.key) ? reserved : NULL;
}

/* The first mapping that overlaps a range. */
static struct mapping *mapping_in(const struct allocation *reserved, number address, number size)
{
	struct mapping *mapping = (struct mapping *)tree_upto(reserved->mappings, address, 0);
	if (mapping && mapping->node.key + mapping->size > address)
		return mapping;
	mapping = (struct mapping *)tree_from(reserved->mappings, address, 0);
	return mapping && mapping->node.key < address + size ? mapping : NULL;
}

CUresult cuMemMap(CUdeviceptr pointer, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemMap", INITIALISED);
	struct physical *physical = answer == CUDA_SUCCESS ? physical_of(handle) : NULL;
	struct allocation *reserved = answer == CUDA_SUCCESS ? reservation(pointer, size) : NULL;
	/* "offset - Must be zero": cuMemMap's documentation. */
	if (answer == CUDA_SUCCESS && (!physical || !reserved || offset || flags || size > physical->size))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && mapping_in(reserved, pointer, size))
		answer = CUDA_ERROR_INVALID_VALUE;
	struct mapping *mapping = answer == CUDA_SUCCESS ? calloc(1, sizeof *mapping) : NULL;
	if (answer == CUDA_SUCCESS && !mapping)
		answer = CUDA_ERROR_OUT_OF_MEMORY;
	if (answer == CUDA_SUCCESS) {
		mapping->node.key = pointer;
		mapping->size = size;
		mapping->physical = physical;
		physical->mappings++;
		tree_insert(&reserved->mappings, &mapping->node);
	}
	return call_end(&call, answer);
}

/* Whether a range consists of whole, adjacent mappings. */
static int whole_mappings(const struct allocation *reserved, number address, number size)
{
	number end = address + size;
	while (address < end) {
		const struct mapping *mapping = mapping_in(reserved, address, end - address);
		if (!mapping || mapping->node.key != address || mapping->size > end - address)
			return 0;
		address += mapping->size;
	}
	return 1;
}

CUresult cuMemUnmap(CUdeviceptr pointer, size_t size)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemUnmap", INITIALISED);
	struct allocation *reserved = answer == CUDA_SUCCESS ? reservation(pointer, size) : NULL;
	if (answer == CUDA_SUCCESS && (!reserved || !whole_mappings(reserved, pointer, size)))
		answer = CUDA_ERROR_INVALID_VALUE;
	struct mapping *mapping;
	while (answer == CUDA_SUCCESS && (mapping = mapping_in(reserved, pointer, size))) {
		tree_remove(&reserved->mappings, &mapping->node);
		mapping->physical->mappings--;
		physical_let_go(mapping->physical);
		free(mapping);
	}
	return call_end(&call, answer);
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t size, const CUmemAccessDesc *access, size_t count)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemSetAccess", INITIALISED);
	struct allocation *reserved = answer == CUDA_SUCCESS ? reservation(pointer, size) : NULL;
	if (answer == CUDA_SUCCESS && (!reserved || !access || !whole_mappings(reserved, pointer, size)))
		answer = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; answer == CUDA_SUCCESS && i < count; i++) {
		int device = access[i].location.id;
		if (access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
			continue; /* the host can access all memory */
		if (device < 0 || device >= own.device_count) {
			answer = CUDA_ERROR_INVALID_DEVICE;
			break;
		}
		struct node *node = tree_from(reserved->mappings, pointer, 0);
		for (; node && node->key < pointer + size; node = tree_from(reserved->mappings, node->key + 1, 0))
			((struct mapping *)node)->access[device] = access[i].flags;
	}
	return call_end(&call, answer);
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *where, CUdeviceptr pointer)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemGetAccess", INITIALISED);
	const struct allocation *reserved = answer == CUDA_SUCCESS ? allocation_around(pointer) : NULL;
	const struct mapping *mapping = reserved && reserved->kind == RESERVED ? mapping_in(reserved, pointer, 1) : NULL;
	if (answer == CUDA_SUCCESS &&
	    (!flags || !where || !mapping || where->id < 0 || where->id >= own.device_count))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		*flags = mapping->access[where->id];
	return call_end(&call, answer);
}

int mapped_range(const struct allocation *reserved, number address, number size)
{
	number end = address + size;
	while (address < end) {
		const struct mapping *mapping = mapping_in(reserved, address, 1);
		int reachable = 0;
		for (int i = 0; mapping && i < own.device_count; i++)
			reachable |= mapping->access[i] != CU_MEM_ACCESS_FLAGS_PROT_NONE;
		if (!reachable)
			return 0;
		address = mapping->node.key + mapping->size;
	}
	return 1;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemRetainAllocationHandle", INITIALISED);
	number place = (number)(uintptr_t)address;
	const struct allocation *reserved = answer == CUDA_SUCCESS ? allocation_around(place) : NULL;
	const struct mapping *mapping = reserved && reserved->kind == RESERVED ? mapping_in(reserved, place, 1) : NULL;
	if (answer == CUDA_SUCCESS && (!handle || !mapping))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		mapping->physical->handles++;
		*handle = (CUmemGenericAllocationHandle)(uintptr_t)mapping->physical;
	}
	return call_end(&call, answer);
}

/*
 * Virtual memory management: memory of a GPU without an address
 * (cuMemCreate), addresses without memory (cuMemAddressReserve), and mapping
 * the one to the other. The GPU's memory is taken when it is created and
 * given back when neither a handle nor a mapping is left, whichever goes last.
 */
#define _GNU_SOURCE
#include "driver.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct physical {
	struct object object;
	struct device *device; /* NULL: memory of the host */
	CUmemAllocationProp properties;
	number size, charged;
	int handles, mappings;
};

struct mapping {
	struct node node; /* by address */
	number size;
	struct physical *physical;
	CUmemAccess_flags access[MAX_DEVICES];
};

static struct physical *physical_of(CUmemGenericAllocationHandle handle)
{
	struct physical *physical = (struct physical *)(uintptr_t)handle;
	return object_is(physical, PHYSICAL) ? physical : NULL;
}

static void let_go(struct physical *physical)
{
	if (physical->handles > 0 || physical->mappings > 0)
		return;
	if (physical->device)
		device_give(physical->device, physical->charged);
	object_remove(&physical->object);
	free(physical);
}

/* Which device memory is to be on, NULL for the host's. */
static CUresult location(const CUmemAllocationProp *properties, struct device **device)
{
	*device = NULL;
	if (!properties || properties->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	switch (properties->location.type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		if (properties->location.id < 0 || properties->location.id >= own.device_count)
			return CUDA_ERROR_INVALID_DEVICE;
		*device = &own.devices[properties->location.id];
		return CUDA_SUCCESS;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return CUDA_SUCCESS;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags option)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, "cuMemGetAllocationGranularity", INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = location(properties, &device);
	if (answer == CUDA_SUCCESS && (!granularity || (unsigned int)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		*granularity = PAGE;
	return call_end(&call, answer);
}

static struct physical *new_physical(const CUmemAllocationProp *properties, struct device *device, number size)
{
	struct physical *physical = calloc(1, sizeof *physical);
	if (!physical)
		return NULL;
	physical->properties = *properties;
	physical->device = device;
	physical->size = size;
	physical->handles = 1;
	object_add(&physical->object, PHYSICAL);
	return physical;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *properties,
                     unsigned long long flags)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, "cuMemCreate", INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = location(properties, &device);
	if (answer == CUDA_SUCCESS && device)
		answer = call_device(&call, device->ordinal, &device);
	if (answer == CUDA_SUCCESS && (!handle || flags || size == 0 || size % PAGE))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && device && device_lost(call.state, device))
		answer = CUDA_ERROR_DEVICE_UNAVAILABLE;
	if (answer == CUDA_SUCCESS && (size > LARGEST || (device && !device_take(&call, device, size))))
		answer = CUDA_ERROR_OUT_OF_MEMORY;
	if (answer == CUDA_SUCCESS) {
		struct physical *made = new_physical(properties, device, size);
		if (made) {
			made->charged = size;
			*handle = (CUmemGenericAllocationHandle)(uintptr_t)made;
		} else {
			if (device)
				device_give(device, size);
			answer = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	return call_end(&call, answer);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemRelease", INITIALISED);
	struct physical *physical = answer == CUDA_SUCCESS ? physical_of(handle) : NULL;
	if (answer == CUDA_SUCCESS && (!physical || physical->handles == 0))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		physical->handles--;
		let_go(physical);
	}
	return call_end(&call, answer);
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *properties, CUmemGenericAllocationHandle handle)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemGetAllocationPropertiesFromHandle", INITIALISED);
	const struct physical *physical = answer == CUDA_SUCCESS ? physical_of(handle) : NULL;
	if (answer == CUDA_SUCCESS && (!physical || !properties))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		*properties = physical->properties;
	return call_end(&call, answer);
}

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

/* The reservation that a whole range is in. */
static struct allocation *reservation(CUdeviceptr pointer, number size)
{
	struct allocation *reserved = allocation_around(pointer);
	if (!reserved || reserved->kind != RESERVED || size == 0 || pointer % PAGE || size % PAGE)
		return NULL;
	return size <= reserved->size - (pointer - reserved->node.key) ? reserved : NULL;
}

/* The first mapping that has something of a range. */
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

/* Whether a range is made of whole mappings, one beside the other. */
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
		let_go(mapping->physical);
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
			continue; /* the host can reach all memory */
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

/* What a file of shared memory says of itself; its first bytes say what it is. */
struct exported {
	number magic, size, key;
	CUmemAllocationProp properties;
};
#define EXPORTED_MAGIC 0x657870765f616c6cULL

CUresult cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuMemExportToShareableHandle", INITIALISED);
	const struct physical *physical = answer == CUDA_SUCCESS ? physical_of(handle) : NULL;
	if (answer == CUDA_SUCCESS && (!physical || !shareable || flags ||
	                               type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	                               !(physical->properties.requestedHandleTypes & type)))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		struct exported exported = { .magic = EXPORTED_MAGIC, .size = physical->size,
			.key = physical->device ? physical->device->key : 0, .properties = physical->properties };
		int file = memfd_create("cuda-shared", MFD_CLOEXEC);
		if (file < 0 || write(file, &exported, sizeof exported) != sizeof exported) {
			if (file >= 0)
				close(file);
			answer = CUDA_ERROR_OPERATING_SYSTEM;
		} else {
			*(int *)shareable = file;
		}
	}
	return call_end(&call, answer);
}

/* Memory of another process, which alone is charged for it. */
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shareable,
                                        CUmemAllocationHandleType type)
{
	struct call call;
	struct exported exported;
	CUresult answer = call_begin(&call, "cuMemImportFromShareableHandle", INITIALISED);
	if (answer == CUDA_SUCCESS && (!handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	                               pread((int)(intptr_t)shareable, &exported, sizeof exported, 0) != sizeof exported ||
	                               exported.magic != EXPORTED_MAGIC))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		struct device *device = NULL;
		for (int i = 0; i < own.device_count; i++)
			if (own.devices[i].key == exported.key)
				device = &own.devices[i];
		struct physical *made = new_physical(&exported.properties, device, exported.size);
		if (made)
			*handle = (CUmemGenericAllocationHandle)(uintptr_t)made;
		else
			answer = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return call_end(&call, answer);
}

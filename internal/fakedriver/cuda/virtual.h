/* What physical.c and virtual.c share. */
#ifndef VRAMSCOPE_FAKE_CUDA_VIRTUAL_H
#define VRAMSCOPE_FAKE_CUDA_VIRTUAL_H

#include "driver.h"

struct physical {
	struct object object;
	struct device *device; /* NULL: memory of the host, or of a GPU that this process does not see */
	CUmemAllocationProp properties;
	number size, charged;
	int handles, mappings;
};

/* NULL for an invalid handle. */
struct physical *physical_of(CUmemGenericAllocationHandle handle);
/* Frees the memory if neither a handle nor a mapping is left. */
void physical_let_go(struct physical *physical);

#endif

#include "scenario.h"

#include <string.h>

CUcontext contexts[4];

void use_device(int device)
{
	if (!contexts[device])
		show("retain", CU(cuDevicePrimaryCtxRetain)(&contexts[device], device));
	show("set", CU(cuCtxSetCurrent)(contexts[device]));
}

void begin(void)
{
	show("init", CU(cuInit)(0));
	use_device(0);
}

CUdeviceptr allocate(size_t size)
{
	CUdeviceptr pointer = 0;
	show("alloc", CU(cuMemAlloc_v2)(&pointer, size));
	return pointer;
}

CUmemAllocationProp shared_allocation(int device)
{
	return (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED,
		                      .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		                      .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device } };
}

int play(const char *scenario)
{
	static const struct {
		const char *name;
		void (*play)(void);
		int begun;
	} scenarios[] = {
		{ "linear", linear, 1 },   { "pooled", pooled, 1 },   { "virtual", virtual_memory, 1 },    { "teardown", teardown, 1 },
		{ "threads", threads, 1 }, { "share", share, 1 },     { "import", import, 1 },
		{ "fork-before", fork_before, 0 }, { "fork-after", fork_after, 0 }, { "exec", become_another, 0 },
		{ "idle-pools", idle_pools, 1 },
		{ "close-all", close_all, 1 },
		{ "leave-main", leave_main, 1 },
		{ "unseen", unseen, 0 },   { "fork-storm", fork_storm, 1 },
	};
	for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
		if (strcmp(scenarios[i].name, scenario) != 0)
			continue;
		if (scenarios[i].begun)
			begin();
		scenarios[i].play();
		return 1;
	}
	if (strncmp(scenario, "captur", 6) != 0)
		return 0;
	begin();
	pooled();
	capturing(strcmp(scenario, "capturing") == 0);
	return 1;
}

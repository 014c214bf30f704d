/* The test program's table of CUDA calls, and functions for its scenarios. */
#ifndef VRAMSCOPE_PRELOAD_PROGRAM_H
#define VRAMSCOPE_PRELOAD_PROGRAM_H

#define _GNU_SOURCE
#include "api.h"
#include "totals.h"

#include <stdio.h>

/* Every call, its name for cuGetProcAddress, and a CUDA version that has it. */
#define CALLS(CALL)                                                           \
	CALL(cuInit, cuInit, 12000)                                           \
	CALL(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 12000)       \
	CALL(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 12000)  \
	CALL(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 12000)      \
	CALL(cuCtxCreate_v2, cuCtxCreate, 11000)                              \
	CALL(cuCtxDestroy_v2, cuCtxDestroy, 12000)                            \
	CALL(cuCtxPushCurrent_v2, cuCtxPushCurrent, 12000)                    \
	CALL(cuCtxPopCurrent_v2, cuCtxPopCurrent, 12000)                      \
	CALL(cuCtxSetCurrent, cuCtxSetCurrent, 12000)                         \
	CALL(cuCtxSynchronize, cuCtxSynchronize, 12000)                       \
	CALL(cuMemAlloc_v2, cuMemAlloc, 12000)                                \
	CALL(cuMemAllocPitch_v2, cuMemAllocPitch, 12000)                      \
	CALL(cuMemAllocManaged, cuMemAllocManaged, 12000)                     \
	CALL(cuMemFree_v2, cuMemFree, 12000)                                  \
	CALL(cuIpcGetMemHandle, cuIpcGetMemHandle, 12000)                     \
	CALL(cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle, 12000)                \
	CALL(cuIpcCloseMemHandle, cuIpcCloseMemHandle, 12000)                 \
	CALL(cuMemAddressReserve, cuMemAddressReserve, 12000)                 \
	CALL(cuMemCreate, cuMemCreate, 12000)                                 \
	CALL(cuMemRelease, cuMemRelease, 12000)                               \
	CALL(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 12000) \
	CALL(cuMemMap, cuMemMap, 12000)                                       \
	CALL(cuMemUnmap, cuMemUnmap, 12000)                                   \
	CALL(cuMemExportToShareableHandle, cuMemExportToShareableHandle, 12000) \
	CALL(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle, 12000) \
	CALL(cuMemPoolCreate, cuMemPoolCreate, 12000)                         \
	CALL(cuMemPoolDestroy, cuMemPoolDestroy, 12000)                       \
	CALL(cuMemPoolSetAttribute, cuMemPoolSetAttribute, 12000)             \
	CALL(cuDeviceSetMemPool, cuDeviceSetMemPool, 12000)                   \
	CALL(cuStreamCreate, cuStreamCreate, 12000)                           \
	CALL(cuStreamDestroy_v2, cuStreamDestroy, 12000)                      \
	CALL(cuGraphDestroy, cuGraphDestroy, 12000)                           \
	CALL(cuMemAllocAsync, cuMemAllocAsync, 12000)                         \
	CALL(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 12000)         \
	CALL(cuMemFreeAsync, cuMemFreeAsync, 12000)                           \
	CALL(cuStreamBeginCapture_v2, cuStreamBeginCapture, 12000)            \
	CALL(cuStreamEndCapture, cuStreamEndCapture, 12000)

#ifdef LINKED
#define CU(name) name
#else
struct calls {
#define MEMBER(symbol, name, version) __typeof__(&symbol) symbol;
	CALLS(MEMBER)
#undef MEMBER
};
extern struct calls calls;
#define CU(name) calls.name
#endif

/* find.c: exits if something is missing. */
void find_calls(const char *way);
/* A libcuda function, past the hooks of preloaded libraries. */
void *find_unseen(const char *name);
/* Prints the fake driver's stats of each device. */
void print_stats(void);
/* If a call is to fail, prints how many calls the fake driver has had from the program. */
void print_calls(void);

/* scenario.c: runs a scenario; 0: unknown. */
int play(const char *scenario);
/* Prints a call's answer, which must be the same with and without the library. */
void show(const char *what, int answer);

extern char *program_path, *program_way;

#define MIB ((size_t)1 << 20)

#endif

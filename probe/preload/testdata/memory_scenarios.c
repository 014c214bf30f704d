#include "scenario.h"

#include <errno.h>
#include <stdint.h>

void linear(void)
{
	CUdeviceptr pointers[40], pitched = 0, managed = 0;
	size_t pitch = 0;
	for (int i = 0; i < 40; i++) {
		use_device(i % 2);
		pointers[i] = allocate((size_t)(i * i + 1) * 12345);
	}
	for (int i = 0; i < 40; i += 3)
		show("free", CU(cuMemFree_v2)(pointers[i]));
	show("free", CU(cuMemFree_v2)(pointers[0]));
	show("free", CU(cuMemFree_v2)(0));
	show("free", CU(cuMemFree_v2)(12345));
	show("pitch", CU(cuMemAllocPitch_v2)(&pitched, &pitch, 1000, 3000, 16));
	show("managed", CU(cuMemAllocManaged)(&managed, 3 * MIB, 1));
	allocate((size_t)1 << 45);
	allocate(0);
	errno = 1234;
	allocate(5 * MIB);
	show("errno", errno);
}

void pooled(void)
{
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUdeviceptr pointers[30] = { 0 };
	CUmemoryPool pool = NULL, gone = NULL;
	CUstream stream = NULL;
	cuuint64_t all = UINT64_MAX;
	show("stream", CU(cuStreamCreate)(&stream, 0));
	show("pool", CU(cuMemPoolCreate)(&pool, &properties));
	show("pool", CU(cuMemPoolCreate)(&gone, &properties));
	show("threshold", CU(cuMemPoolSetAttribute)(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
	for (int i = 0; i < 30; i++)
		show("async", i % 3 == 0 ? CU(cuMemAllocFromPoolAsync)(&pointers[i], (size_t)(i + 1) * MIB, pool, stream)
		                         : CU(cuMemAllocAsync)(&pointers[i], (size_t)(i + 1) * MIB, i % 2 ? stream : NULL));
	for (int i = 0; i < 30; i += 4)
		show("free", CU(cuMemFreeAsync)(pointers[i], stream));
	show("free", CU(cuMemFree_v2)(pointers[1]));
	CUdeviceptr plain = allocate(7 * MIB);
	show("free", CU(cuMemFreeAsync)(plain, stream));
	show("set", CU(cuDeviceSetMemPool)(0, pool));
	show("async", CU(cuMemAllocAsync)(&plain, 11 * MIB, stream));
	show("async", CU(cuMemAllocFromPoolAsync)(&plain, (size_t)1 << 44, pool, stream));
	show("destroy", CU(cuMemPoolDestroy)(gone));
	show("destroy", CU(cuMemPoolDestroy)(gone));
}

/* Makes two pools that keep freed memory, and frees most of it. */
void idle_pools(void)
{
	CUmemPoolProps properties = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } };
	CUdeviceptr pointers[64] = { 0 };
	CUmemoryPool pools[2] = { NULL };
	cuuint64_t all = UINT64_MAX;
	for (int i = 0; i < 2; i++) {
		show("pool", CU(cuMemPoolCreate)(&pools[i], &properties));
		show("threshold", CU(cuMemPoolSetAttribute)(pools[i], CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
	}
	for (int i = 0; i < 64; i++)
		show("async", CU(cuMemAllocFromPoolAsync)(&pointers[i], 8 * MIB, pools[i % 2], NULL));
	for (int i = 16; i < 64; i++)
		show("free", CU(cuMemFreeAsync)(pointers[i], NULL));
	show("wait", CU(cuCtxSynchronize)());
	/* What these calls free counts as used until the device is synchronised. */
	for (int i = 0; i < 8; i++)
		show("free", CU(cuMemFreeAsync)(pointers[i], NULL));
}

/* Captures a graph, and ends the capture or leaves it running. */
void capturing(int leave)
{
	CUstream stream = NULL;
	CUgraph graph = NULL;
	CUdeviceptr pointer = 0;
	show("stream", CU(cuStreamCreate)(&stream, 1));
	show("begin", CU(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	show("async", CU(cuMemAllocAsync)(&pointer, 9 * MIB, stream));
	if (leave)
		return;
	show("end", CU(cuStreamEndCapture)(stream, &graph));
	show("begin", CU(cuStreamBeginCapture_v2)(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	show("destroy", CU(cuStreamDestroy_v2)(stream));
}

void virtual_memory(void)
{
	CUmemAllocationProp properties = shared_allocation(1), host = properties;
	CUmemGenericAllocationHandle handles[6] = { 0 }, again = 0, imported = 0;
	CUdeviceptr place = 0;
	int file = -1;
	host.location.type = CU_MEM_LOCATION_TYPE_HOST;
	show("reserve", CU(cuMemAddressReserve)(&place, 64 * MIB, 0, 0, 0));
	for (int i = 0; i < 6; i++)
		show("create", CU(cuMemCreate)(&handles[i], (size_t)(i + 1) * 2 * MIB, i == 5 ? &host : &properties, 0));
	show("create", CU(cuMemCreate)(&again, (size_t)1 << 44, &properties, 0));
	show("map", CU(cuMemMap)(place, 2 * MIB, 0, handles[0], 0));
	show("map", CU(cuMemMap)(place + 2 * MIB, 4 * MIB, 0, handles[1], 0));
	show("map", CU(cuMemMap)(place + 6 * MIB, 6 * MIB, 0, handles[2], 0));
	show("release", CU(cuMemRelease)(handles[0])); /* remains, because it is mapped */
	show("release", CU(cuMemRelease)(handles[1])); /* freed with its mapping */
	show("retain", CU(cuMemRetainAllocationHandle)(&again, (void *)(uintptr_t)(place + 6 * MIB)));
	show("release", CU(cuMemRelease)(again));
	show("retain", CU(cuMemRetainAllocationHandle)(&again, (void *)(uintptr_t)place)); /* and has a handle again */
	show("unmap", CU(cuMemUnmap)(place, 6 * MIB));
	show("unmap", CU(cuMemUnmap)(place, 2 * MIB));
	show("release", CU(cuMemRelease)(handles[3]));
	show("release", CU(cuMemRelease)((CUmemGenericAllocationHandle)(uintptr_t)&file));
	show("export", CU(cuMemExportToShareableHandle)(&file, handles[4], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	show("import", CU(cuMemImportFromShareableHandle)(&imported, (void *)(intptr_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	show("map", CU(cuMemMap)(place + 20 * MIB, 10 * MIB, 0, imported, 0));
}

void teardown(void)
{
	CUcontext own = NULL, popped = NULL;
	allocate(3 * MIB);
	show("create", CU(cuCtxCreate_v2)(&own, 0, 1));
	allocate(20 * MIB);
	show("pop", CU(cuCtxPopCurrent_v2)(&popped));
	allocate(MIB);
	show("push", CU(cuCtxPushCurrent_v2)(own));
	allocate(2 * MIB);
	show("destroy", CU(cuCtxDestroy_v2)(own));
	show("destroy", CU(cuCtxDestroy_v2)(own));
	use_device(2);
	allocate(30 * MIB);
	show("reset", CU(cuDevicePrimaryCtxReset_v2)(2));
	contexts[2] = NULL;
	use_device(2);
	allocate(31 * MIB);
	use_device(3);
	allocate(32 * MIB);
	contexts[3] = NULL;
	use_device(3);
	show("release", CU(cuDevicePrimaryCtxRelease_v2)(3));
	allocate(33 * MIB);
	use_device(0);
	show("release", CU(cuDevicePrimaryCtxRelease_v2)(3));
	show("create", CU(cuCtxCreate_v2)(&own, 0, 1));
	allocate(4 * MIB);
}

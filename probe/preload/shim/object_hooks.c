/*
 * Contexts, pools and memory without an address. These are counted rather than
 * keyed by address, so only the outermost hook of a call counts.
 */
#include "hooks.h"
#include "rescue.h"

static CUresult retained(CUresult answer, const CUcontext *context, CUdevice device, int outer)
{
	if (answer == CUDA_SUCCESS && outer)
		context_retained(*context, device);
	return answer;
}

static CUresult made(CUresult answer, const CUcontext *context, CUdevice device, int outer)
{
	if (answer == CUDA_SUCCESS && outer)
		context_made(*context, device);
	return answer;
}

HOOK(cuDevicePrimaryCtxRetain, (context, device), CUcontext *context, CUdevice device)
{
	(void)caller;
	return retained(real(context, device), context, device, outer);
}

typedef CUresult (*end_primary)(CUdevice device);

static CUresult noted_end(end_primary real, CUdevice device, int all, int outer)
{
	struct teardown teardown = { 0 };
	if (outer)
		teardown = primary_ending(device, all);
	CUresult answer = real(device);
	context_ended(teardown, answer == CUDA_SUCCESS);
	return answer;
}

HOOK(cuDevicePrimaryCtxRelease, (device), CUdevice device)
{
	(void)caller;
	return noted_end(real, device, 0, outer);
}

HOOK(cuDevicePrimaryCtxRelease_v2, (device), CUdevice device)
{
	(void)caller;
	return noted_end(real, device, 0, outer);
}

HOOK(cuDevicePrimaryCtxReset, (device), CUdevice device)
{
	(void)caller;
	return noted_end(real, device, 1, outer);
}

HOOK(cuDevicePrimaryCtxReset_v2, (device), CUdevice device)
{
	(void)caller;
	return noted_end(real, device, 1, outer);
}

HOOK(cuCtxCreate_v2, (context, flags, device), CUcontext *context, unsigned int flags, CUdevice device)
{
	(void)caller;
	return made(real(context, flags, device), context, device, outer);
}

HOOK(cuCtxCreate_v3, (context, affinities, count, flags, device), CUcontext *context, CUexecAffinityParam *affinities,
     int count, unsigned int flags, CUdevice device)
{
	(void)caller;
	return made(real(context, affinities, count, flags, device), context, device, outer);
}

HOOK(cuCtxCreate_v4, (context, parameters, flags, device), CUcontext *context, CUctxCreateParams *parameters,
     unsigned int flags, CUdevice device)
{
	(void)caller;
	return made(real(context, parameters, flags, device), context, device, outer);
}

HOOK(cuCtxDestroy_v2, (context), CUcontext context)
{
	(void)caller;
	struct teardown teardown = { 0 };
	if (outer)
		teardown = context_ending(context);
	CUresult answer = real(context);
	context_ended(teardown, answer == CUDA_SUCCESS);
	return answer;
}

HOOK(cuCtxPushCurrent_v2, (context), CUcontext context)
{
	(void)caller;
	CUresult answer = real(context);
	if (answer == CUDA_SUCCESS && outer)
		context_push(context);
	return answer;
}

HOOK(cuCtxPopCurrent_v2, (context), CUcontext *context)
{
	(void)caller;
	CUresult answer = real(context);
	if (answer == CUDA_SUCCESS && outer)
		context_pop();
	return answer;
}

HOOK(cuCtxSetCurrent, (context), CUcontext context)
{
	(void)caller;
	CUresult answer = real(context);
	if (answer == CUDA_SUCCESS && outer)
		context_set(context);
	return answer;
}

HOOK(cuMemPoolCreate, (pool, properties), CUmemoryPool *pool, const CUmemPoolProps *properties)
{
	(void)caller;
	CUresult answer = real(pool, properties);
	/* A shareable pool is counted here, too; a pool of managed memory is on no device. */
	if (answer == CUDA_SUCCESS && outer && properties->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
	    properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
		pool_made(*pool, properties->location.id);
		serve_wanted();
	}
	return answer;
}

HOOK(cuMemPoolDestroy, (pool), CUmemoryPool pool)
{
	(void)caller;
	struct pool was;
	int known = outer && pool_ending(pool, &was);
	CUresult answer = real(pool);
	if (known && answer != CUDA_SUCCESS)
		pool_end_failed(&was);
	return answer;
}

HOOK(cuDeviceSetMemPool, (device, pool), CUdevice device, CUmemoryPool pool)
{
	(void)caller;
	CUresult answer = real(device, pool);
	if (answer == CUDA_SUCCESS && outer)
		pool_set(device, pool);
	return answer;
}

HOOK(cuMemCreate, (handle, size, properties, flags), CUmemGenericAllocationHandle *handle, size_t size,
     const CUmemAllocationProp *properties, unsigned long long flags)
{
	CUresult answer = real(handle, size, properties, flags);
	if (!outer || !properties || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return answer;
	int device = properties->location.id;
	struct rescue rescue;
	if (answer == CUDA_ERROR_OUT_OF_MEMORY && rescue_begin(&rescue, outer, device, size, API_CREATE))
		answer = rescue_end(&rescue, real(handle, size, properties, flags));
	if (answer == CUDA_SUCCESS) {
		vmm_created(*handle, size, device, frame_caller(caller));
		serve_wanted();
	}
	if (answer == CUDA_ERROR_OUT_OF_MEMORY && device >= 0 && device < DEVICES) {
		count_out_of_memory((uint8_t)device);
		failure_note((uint8_t)device, size, API_CREATE, frame_caller(caller));
	}
	return answer;
}

HOOK(cuMemRelease, (handle), CUmemGenericAllocationHandle handle)
{
	(void)caller;
	struct physical was = { 0 };
	if (outer)
		was = vmm_releasing(handle);
	CUresult answer = real(handle);
	if (answer != CUDA_SUCCESS)
		vmm_release_failed(&was);
	return answer;
}

HOOK(cuMemRetainAllocationHandle, (handle, address), CUmemGenericAllocationHandle *handle, void *address)
{
	(void)caller;
	CUresult answer = real(handle, address);
	if (answer == CUDA_SUCCESS && outer)
		vmm_retained(*handle, (CUdeviceptr)(uintptr_t)address);
	return answer;
}

HOOK(cuMemMap, (pointer, size, offset, handle, flags), CUdeviceptr pointer, size_t size, size_t offset,
     CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	(void)caller;
	CUresult answer = real(pointer, size, offset, handle, flags);
	if (answer == CUDA_SUCCESS && outer)
		vmm_mapped(pointer, size, handle);
	return answer;
}

HOOK(cuMemUnmap, (pointer, size), CUdeviceptr pointer, size_t size)
{
	(void)caller;
	CUresult answer = real(pointer, size);
	if (answer == CUDA_SUCCESS && outer)
		vmm_unmapped(pointer, size);
	return answer;
}

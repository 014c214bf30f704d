/* Allocating and freeing on streams, for both default streams. */
#include "driver.h"

/* "CUDA_ERROR_INVALID_CONTEXT (default stream specified with no current context)": any other
 * stream has its own context. */
static CUresult begin(struct call *call, const char *name, CUstream handle, enum default_stream twin,
                      struct CUstream_st **stream)
{
	int own_context = handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD && !context_current();
	CUresult answer = call_begin(call, name, (own_context ? INITIALISED : CURRENT) | FAST);
	if (answer == CUDA_SUCCESS)
		answer = stream_of(call, handle, twin, stream);
	if (answer == CUDA_SUCCESS && own_context && device_lost(call->state, (*stream)->context->device))
		answer = CUDA_ERROR_DEVICE_UNAVAILABLE;
	return answer;
}

static CUresult allocate(const char *name, CUdeviceptr *pointer, size_t size, int named, CUmemoryPool pool,
                         CUstream handle, enum default_stream twin)
{
	struct call call;
	struct CUstream_st *stream;
	CUresult answer = begin(&call, name, handle, twin, &stream);
	if (answer == CUDA_SUCCESS && named && !object_is(pool, POOL))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && !named && !(pool = pool_current(stream->context->device)))
		answer = CUDA_ERROR_OUT_OF_MEMORY;
	if (answer == CUDA_SUCCESS)
		answer = pool_allocate(&call, pool, size, stream, pointer);
	return call_end(&call, answer);
}

CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t size, CUstream stream)
{
	return allocate("cuMemAllocAsync", pointer, size, 0, NULL, stream, LEGACY);
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *pointer, size_t size, CUstream stream)
{
	return allocate("cuMemAllocAsync", pointer, size, 0, NULL, stream, PER_THREAD);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *pointer, size_t size, CUmemoryPool pool, CUstream stream)
{
	return allocate("cuMemAllocFromPoolAsync", pointer, size, 1, pool, stream, LEGACY);
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *pointer, size_t size, CUmemoryPool pool, CUstream stream)
{
	return allocate("cuMemAllocFromPoolAsync", pointer, size, 1, pool, stream, PER_THREAD);
}

static CUresult give_back(const char *name, CUdeviceptr pointer, CUstream handle, enum default_stream twin)
{
	struct call call;
	struct CUstream_st *stream;
	CUresult answer = begin(&call, name, handle, twin, &stream);
	if (answer == CUDA_SUCCESS && stream->capturing == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
		answer = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (answer == CUDA_SUCCESS) {
		struct allocation *allocation = allocation_find(pointer);
		if (allocation && allocation->kind == POOLED)
			pool_free(allocation, stream);
		else if (!allocation || !allocation_free(allocation))
			answer = CUDA_ERROR_INVALID_VALUE;
	}
	return call_end(&call, answer);
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream)
{
	return give_back("cuMemFreeAsync", pointer, stream, LEGACY);
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr pointer, CUstream stream)
{
	return give_back("cuMemFreeAsync", pointer, stream, PER_THREAD);
}

/*
 * Each hook is two functions around one body. The exported one serves programs
 * that are linked with libcuda; it calls the next definition, which may be
 * another preloaded library's. The other is handed out by dlsym and
 * cuGetProcAddress in place of libcuda's.
 */
#ifndef VRAMSCOPE_PRELOAD_HOOKS_H
#define VRAMSCOPE_PRELOAD_HOOKS_H

#include "shim.h"

#define HOOKED(symbol, ...)            \
	EXPORT CUresult symbol(__VA_ARGS__); \
	CUresult handed_out_##symbol(__VA_ARGS__);

HOOKED(cuGetProcAddress, const char *symbol, void **function, int version, cuuint64_t flags)
HOOKED(cuGetProcAddress_v2, const char *symbol, void **function, int version, cuuint64_t flags,
       CUdriverProcAddressQueryResult *status)
HOOKED(cuDevicePrimaryCtxRetain, CUcontext *context, CUdevice device)
HOOKED(cuDevicePrimaryCtxRelease, CUdevice device)
HOOKED(cuDevicePrimaryCtxRelease_v2, CUdevice device)
HOOKED(cuDevicePrimaryCtxReset, CUdevice device)
HOOKED(cuDevicePrimaryCtxReset_v2, CUdevice device)
HOOKED(cuCtxCreate_v2, CUcontext *context, unsigned int flags, CUdevice device)
HOOKED(cuCtxCreate_v3, CUcontext *context, CUexecAffinityParam *affinities, int count, unsigned int flags, CUdevice device)
HOOKED(cuCtxCreate_v4, CUcontext *context, CUctxCreateParams *parameters, unsigned int flags, CUdevice device)
HOOKED(cuCtxDestroy_v2, CUcontext context)
HOOKED(cuCtxPushCurrent_v2, CUcontext context)
HOOKED(cuCtxPopCurrent_v2, CUcontext *context)
HOOKED(cuCtxSetCurrent, CUcontext context)
HOOKED(cuMemAlloc_v2, CUdeviceptr *pointer, size_t size)
HOOKED(cuMemAllocPitch_v2, CUdeviceptr *pointer, size_t *pitch, size_t width, size_t height, unsigned int element)
HOOKED(cuMemAllocManaged, CUdeviceptr *pointer, size_t size, unsigned int flags)
HOOKED(cuMemFree_v2, CUdeviceptr pointer)
HOOKED(cuIpcOpenMemHandle, CUdeviceptr *pointer, CUipcMemHandle handle, unsigned int flags)
HOOKED(cuIpcOpenMemHandle_v2, CUdeviceptr *pointer, CUipcMemHandle handle, unsigned int flags)
HOOKED(cuIpcCloseMemHandle, CUdeviceptr pointer)
HOOKED(cuMemCreate, CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *properties,
       unsigned long long flags)
HOOKED(cuMemRelease, CUmemGenericAllocationHandle handle)
HOOKED(cuMemRetainAllocationHandle, CUmemGenericAllocationHandle *handle, void *address)
HOOKED(cuMemMap, CUdeviceptr pointer, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
HOOKED(cuMemUnmap, CUdeviceptr pointer, size_t size)
HOOKED(cuMemPoolCreate, CUmemoryPool *pool, const CUmemPoolProps *properties)
HOOKED(cuMemPoolDestroy, CUmemoryPool pool)
HOOKED(cuDeviceSetMemPool, CUdevice device, CUmemoryPool pool)
HOOKED(cuMemAllocAsync, CUdeviceptr *pointer, size_t size, CUstream stream)
HOOKED(cuMemAllocAsync_ptsz, CUdeviceptr *pointer, size_t size, CUstream stream)
HOOKED(cuMemAllocFromPoolAsync, CUdeviceptr *pointer, size_t size, CUmemoryPool pool, CUstream stream)
HOOKED(cuMemAllocFromPoolAsync_ptsz, CUdeviceptr *pointer, size_t size, CUmemoryPool pool, CUstream stream)
HOOKED(cuMemFreeAsync, CUdeviceptr pointer, CUstream stream)
HOOKED(cuMemFreeAsync_ptsz, CUdeviceptr pointer, CUstream stream)
HOOKED(cuStreamBeginCapture_v2, CUstream stream, CUstreamCaptureMode mode)
HOOKED(cuStreamBeginCapture_v2_ptsz, CUstream stream, CUstreamCaptureMode mode)
#ifndef WITHOUT_CAPTURE_TO_GRAPH /* not in every cuda.h */
HOOKED(cuStreamBeginCaptureToGraph, CUstream stream, CUgraph graph, const CUgraphNode *dependencies,
       const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode)
HOOKED(cuStreamBeginCaptureToGraph_ptsz, CUstream stream, CUgraph graph, const CUgraphNode *dependencies,
       const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode)
#endif
HOOKED(cuStreamEndCapture, CUstream stream, CUgraph *graph)
HOOKED(cuStreamEndCapture_ptsz, CUstream stream, CUgraph *graph)
HOOKED(cuStreamDestroy_v2, CUstream stream)
#undef HOOKED

#define UNWRAP(...) __VA_ARGS__
#define RETURN_ADDRESS ((uint64_t)(uintptr_t)__builtin_return_address(0))
#ifdef __x86_64__
#define CALLER                                                                                               \
	((struct frame){ RETURN_ADDRESS, (uint64_t)(uintptr_t)__builtin_frame_address(0) + 16,                \
	                 *(const uint64_t *)__builtin_frame_address(0) })
#else
#define CALLER ((struct frame){ .pc = RETURN_ADDRESS })
#endif

/*
 * Begins a hook's body. Its parameters: the real function, the caller's frame, whether this hook
 * is the outermost one, and the arguments. A program that is weakly linked to libcuda and runs where
 * there is none finds our symbol, which returns the error of a driver that could not be loaded.
 */
#define HOOK(symbol, arguments, ...)                                                                          \
	typedef CUresult (*call_##symbol)(__VA_ARGS__);                                                       \
	static inline CUresult noted_##symbol(call_##symbol real, struct frame caller, int outer, __VA_ARGS__);   \
	static inline CUresult around_##symbol(call_##symbol real, struct frame caller, __VA_ARGS__)              \
	{                                                                                                     \
		if (!real)                                                                                    \
			return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;                                          \
		if (own_locks) /* in a signal handler that interrupted a locked section */                      \
			return real(UNWRAP arguments);                                                        \
		int outer = own_thread.depth++ == 0;                                                          \
		CUresult answer = noted_##symbol(real, caller, outer, UNWRAP arguments);                      \
		own_thread.depth--;                                                                           \
		return answer;                                                                                \
	}                                                                                                     \
	CUresult symbol(__VA_ARGS__)                                                                          \
	{                                                                                                     \
		return around_##symbol((call_##symbol)resolve_next(SLOT_##symbol), CALLER, UNWRAP arguments); \
	}                                                                                                     \
	CUresult handed_out_##symbol(__VA_ARGS__)                                                             \
	{                                                                                                     \
		call_##symbol real = (call_##symbol)resolve_handed_out(SLOT_##symbol);                        \
		return around_##symbol(real, CALLER, UNWRAP arguments);                                       \
	}                                                                                                     \
	static inline CUresult noted_##symbol(call_##symbol real, struct frame caller, int outer, __VA_ARGS__)

#endif

/* Memory with an address, copies, and sharing. With one address space a copy's kind follows from its addresses. */
#include "runtime.h"

#include <string.h>

static CUdeviceptr address(const void *pointer)
{
	return (CUdeviceptr)(uintptr_t)pointer;
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
	return WITH_CONTEXT(cuMemGetInfo, free, total);
}

/* Runs a driver call that returns an address, which is NULL if the call fails or the size is 0. */
#define ALLOCATE(name, ...)                                                  \
	do {                                                                     \
		CUdeviceptr made = 0;                                                \
		if (!pointer)                                                        \
			return record(cudaErrorInvalidValue);                            \
		cudaError_t answer = context_ready();                                \
		if (answer == cudaSuccess && size > 0)                               \
			answer = (cudaError_t)driver.name(&made, __VA_ARGS__);           \
		*pointer = (void *)(uintptr_t)made;                                  \
		return record(answer);                                               \
	} while (0)

cudaError_t cudaMalloc(void **pointer, size_t size)
{
	ALLOCATE(cuMemAlloc, size);
}

cudaError_t cudaMallocManaged(void **pointer, size_t size, unsigned int flags)
{
	ALLOCATE(cuMemAllocManaged, size, flags);
}

/* Managed memory stays on the host. */
#if RUNTIME_VERSION < 13000
cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t size, int device, cudaStream_t stream)
{
	(void)pointer, (void)size, (void)device, (void)stream;
	return record(cudaSuccess);
}
#else
cudaError_t cudaMemPrefetchAsync(const void *pointer, size_t size, struct cudaMemLocation to, unsigned int flags, cudaStream_t stream)
{
	(void)pointer, (void)size, (void)to, (void)flags, (void)stream;
	return record(cudaSuccess);
}
#endif

cudaError_t cudaMallocAsync(void **pointer, size_t size, cudaStream_t stream)
{
	ALLOCATE(cuMemAllocAsync, size, stream);
}

cudaError_t cudaMallocFromPoolAsync(void **pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
	ALLOCATE(cuMemAllocFromPoolAsync, size, pool, stream);
}

cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
	enum { ELEMENT = 4 }; /* the smallest that the driver knows */
	size_t size = width * height;
	ALLOCATE(cuMemAllocPitch, pitch, width, height, ELEMENT);
}

cudaError_t cudaMallocHost(void **pointer, size_t size)
{
	return WITH_CONTEXT(cuMemAllocHost, pointer, size);
}

cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned int flags)
{
	return WITH_CONTEXT(cuMemHostAlloc, pointer, size, flags);
}

cudaError_t cudaHostRegister(void *pointer, size_t size, unsigned int flags)
{
	return WITH_CONTEXT(cuMemHostRegister, pointer, size, flags);
}

cudaError_t cudaHostUnregister(void *pointer)
{
	return WITH_CONTEXT(cuMemHostUnregister, pointer);
}

cudaError_t cudaHostGetDevicePointer(void **pointer, void *host, unsigned int flags)
{
	return WITH_CONTEXT(cuMemHostGetDevicePointer, (CUdeviceptr *)pointer, host, flags);
}

cudaError_t cudaFree(void *pointer)
{
	return WITH_CONTEXT(cuMemFree, address(pointer));
}

cudaError_t cudaFreeHost(void *pointer)
{
	return pointer ? WITH_CONTEXT(cuMemFreeHost, pointer) : record(context_ready());
}

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t stream)
{
	return WITH_CONTEXT(cuMemFreeAsync, address(pointer), stream);
}

/* For memory that CUDA does not know, the type is unregistered and there is no error. */
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
	unsigned int type = 0;
	int managed = 0, device = 0;
	if (!attributes)
		return record(cudaErrorInvalidValue);
	cudaError_t answer = context_ready();
	if (answer != cudaSuccess)
		return record(answer);
	memset(attributes, 0, sizeof *attributes);
	attributes->device = -2; /* cudaInvalidDeviceId */
	CUresult known = driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(pointer));
	if (known == CUDA_ERROR_INVALID_VALUE)
		return cudaSuccess;
	known = known ?: driver.cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address(pointer));
	known = known ?: driver.cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address(pointer));
	if (known != CUDA_SUCCESS)
		return record((cudaError_t)known);
	attributes->type = managed                      ? cudaMemoryTypeManaged
	                   : type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
	                                                : cudaMemoryTypeDevice;
	attributes->device = device;
	attributes->devicePointer = (void *)(uintptr_t)pointer;
	attributes->hostPointer = attributes->type == cudaMemoryTypeDevice ? NULL : (void *)(uintptr_t)pointer;
	return cudaSuccess;
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer)
{
	return WITH_CONTEXT(cuIpcGetMemHandle, (CUipcMemHandle *)handle, address(pointer));
}

cudaError_t cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t handle, unsigned int flags)
{
	CUipcMemHandle same;
	memcpy(&same, &handle, sizeof same);
	return WITH_CONTEXT(cuIpcOpenMemHandle, (CUdeviceptr *)pointer, same, flags);
}

cudaError_t cudaIpcCloseMemHandle(void *pointer)
{
	return WITH_CONTEXT(cuIpcCloseMemHandle, address(pointer));
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t size, enum cudaMemcpyKind kind)
{
	(void)kind;
	return WITH_CONTEXT(cuMemcpy, address(to), address(from), size);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	(void)kind;
	return WITH_CONTEXT(cuMemcpyAsync, address(to), address(from), size, stream);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t size,
                                cudaStream_t stream)
{
	(void)to_device, (void)from_device;
	return WITH_CONTEXT(cuMemcpyAsync, address(to), address(from), size, stream);
}

/* Checks only the first row and the last. */
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
	if (width > to_pitch || width > from_pitch)
		return record(cudaErrorInvalidPitchValue);
	if (height == 0)
		return record(context_ready());
	cudaError_t answer = cudaMemcpyAsync(to, from, width, kind, stream);
	return answer ?: cudaMemcpyAsync((char *)to + (height - 1) * to_pitch,
	                                 (const char *)from + (height - 1) * from_pitch, width, kind, stream);
}

cudaError_t cudaMemset(void *pointer, int value, size_t size)
{
	return WITH_CONTEXT(cuMemsetD8, address(pointer), (unsigned char)value, size);
}

cudaError_t cudaMemsetAsync(void *pointer, int value, size_t size, cudaStream_t stream)
{
	return WITH_CONTEXT(cuMemsetD8Async, address(pointer), (unsigned char)value, size, stream);
}

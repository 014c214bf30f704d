/* The calls that nvcc's code makes when it is loaded, and kernels. A kernel is known only by its
 * address on the host, and launching it does nothing. */
#include "runtime.h"

#include <pthread.h>
#include <string.h>

void **__cudaRegisterFatBinary(void *binary)
{
	static void *handle;
	(void)binary;
	return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
	(void)handle;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads, void *first,
                            void *second, void *block, void *grid, int *warp)
{
	(void)handle, (void)host, (void)device, (void)name, (void)threads;
	(void)first, (void)second, (void)block, (void)grid, (void)warp;
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t size,
                       int constant, int global)
{
	(void)handle, (void)host, (void)device, (void)name, (void)external, (void)size, (void)constant, (void)global;
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t size,
                              int constant, int global)
{
	(void)handle, (void)host, (void)device, (void)name, (void)external, (void)size, (void)constant, (void)global;
}

char __cudaInitModule(void **handle)
{
	(void)handle;
	return 1;
}

/* kernel<<<grid, block, shared, stream>>>(…) pushes the configuration, which the kernel's stub pops for its launch. */
struct configuration {
	dim3 grid, block;
	size_t shared;
	CUstream stream;
};

enum { DEPTH = 16 }; /* arguments of a launch may launch, too */
static _Thread_local struct configuration pushed[DEPTH];
static _Thread_local size_t depth;

unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream stream)
{
	if (depth == DEPTH)
		return 1; /* the stub is not called */
	pushed[depth++] = (struct configuration){ grid, block, shared, stream };
	return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	if (depth == 0)
		return record(cudaErrorMissingConfiguration);
	const struct configuration *last = &pushed[--depth];
	*grid = last->grid;
	*block = last->block;
	*shared = last->shared;
	*(CUstream *)stream = last->stream;
	return cudaSuccess;
}

/* Checks the configuration and the stream of a launch. Nothing runs. */
static cudaError_t launch(dim3 grid, dim3 block, cudaStream_t stream)
{
	unsigned int flags;
	if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z)
		return record(cudaErrorInvalidConfiguration);
	return WITH_CONTEXT(cuStreamGetFlags, stream, &flags);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream)
{
	(void)arguments, (void)shared;
	return function ? launch(grid, block, stream) : record(cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                                        cudaStream_t stream)
{
	return cudaLaunchKernel(function, grid, block, arguments, shared, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *configuration, const void *function, void **arguments)
{
	(void)arguments;
	return configuration && function ? record(context_ready()) : record(cudaErrorInvalidValue);
}

/* Returns the driver's handle of a kernel, the same for every symbol. */
cudaError_t cudaGetFuncBySymbol(cudaFunction_t *function, const void *symbol)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static CUfunction any;
	CUmodule module;
	if (!function || !symbol)
		return record(cudaErrorInvalidValue);
	cudaError_t answer = context_ready();
	pthread_mutex_lock(&mutex);
	if (answer == cudaSuccess && !any)
		answer = (cudaError_t)(driver.cuModuleLoadData(&module, "") ?: driver.cuModuleGetFunction(&any, module, "any"));
	*function = any;
	pthread_mutex_unlock(&mutex);
	return record(answer);
}

/* A kernel's handle is its function's address. */
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
	*kernel = (cudaKernel_t)(uintptr_t)function;
	return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream)
{
	return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

/* Returns the attributes of a small kernel for compute capability 9.0. */
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
	if (!attributes || !function)
		return record(cudaErrorInvalidValue);
	memset(attributes, 0, sizeof *attributes);
	attributes->maxThreadsPerBlock = 1024;
	attributes->numRegs = 32;
	attributes->ptxVersion = attributes->binaryVersion = 90;
	attributes->maxDynamicSharedSizeBytes = 49152;
	return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
	(void)attribute, (void)value;
	return record(function ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attribute, int value, int device)
{
	(void)device;
	return cudaFuncSetAttribute(kernel, attribute, value);
}

/* The number of blocks for which a multiprocessor has threads, up to its limit of blocks. */
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int block,
                                                                   size_t shared, unsigned int flags)
{
	int device = 0, threads = 0, most = 0;
	(void)shared, (void)flags;
	if (!blocks || !function || block <= 0)
		return record(cudaErrorInvalidValue);
	cudaError_t answer = context_ready() ?: (cudaError_t)driver.cuCtxGetDevice(&device);
	CUresult known = CUDA_SUCCESS;
	if (answer == cudaSuccess)
		known = driver.cuDeviceGetAttribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device)
		            ?: driver.cuDeviceGetAttribute(&most, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, device);
	*blocks = threads / block < most ? threads / block : most;
	return record(answer ?: (cudaError_t)known);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block, size_t shared)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block, shared, 0);
}

cudaError_t cudaProfilerStart(void)
{
	return cudaSuccess;
}

cudaError_t cudaProfilerStop(void)
{
	return cudaSuccess;
}

/* Modules and their kernels. A module's contents are ignored: it has a kernel of every name, which
 * does nothing when it is launched, and no variables. A module costs no memory of the GPU.
 */
#include "driver.h"

#include <stdlib.h>

struct CUmod_st {
	struct object object;
	CUfunction functions;
};

struct CUfunc_st {
	struct object object;
	CUfunction next; /* of the same module */
};

static CUresult load(const char *name, CUmodule *module, const void *image)
{
	struct call call;
	CUresult answer = call_begin(&call, name, CURRENT | UNSAFE);
	if (answer == CUDA_SUCCESS && (!module || !image))
		answer = CUDA_ERROR_INVALID_VALUE;
	CUmodule made = answer == CUDA_SUCCESS ? calloc(1, sizeof *made) : NULL;
	if (answer == CUDA_SUCCESS && !made)
		answer = CUDA_ERROR_OUT_OF_MEMORY;
	if (answer == CUDA_SUCCESS) {
		object_add(&made->object, MODULE);
		*module = made;
	}
	return call_end(&call, answer);
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	return load("cuModuleLoadData", module, image);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count, CUjit_option *options, void **values)
{
	(void)count, (void)options, (void)values;
	return load("cuModuleLoadDataEx", module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	return load("cuModuleLoadFatBinary", module, image);
}

CUresult cuModuleUnload(CUmodule module)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuModuleUnload", CURRENT);
	if (answer == CUDA_SUCCESS && !object_is(module, MODULE))
		answer = CUDA_ERROR_INVALID_HANDLE;
	if (answer == CUDA_SUCCESS) {
		for (CUfunction next, function = module->functions; function; function = next) {
			next = function->next;
			object_remove(&function->object);
			free(function);
		}
		object_remove(&module->object);
		free(module);
	}
	return call_end(&call, answer);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuModuleGetFunction", CURRENT);
	if (answer == CUDA_SUCCESS && (!function || !name))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && !object_is(module, MODULE))
		answer = CUDA_ERROR_INVALID_HANDLE;
	CUfunction made = answer == CUDA_SUCCESS ? calloc(1, sizeof *made) : NULL;
	if (answer == CUDA_SUCCESS && !made)
		answer = CUDA_ERROR_OUT_OF_MEMORY;
	if (answer == CUDA_SUCCESS) {
		made->next = module->functions;
		module->functions = made;
		object_add(&made->object, FUNCTION);
		*function = made;
	}
	return call_end(&call, answer);
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *pointer, size_t *size, CUmodule module, const char *name)
{
	struct call call;
	(void)pointer, (void)size;
	CUresult answer = call_begin(&call, "cuModuleGetGlobal_v2", CURRENT);
	if (answer == CUDA_SUCCESS)
		answer = !name ? CUDA_ERROR_INVALID_VALUE : object_is(module, MODULE) ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_HANDLE;
	return call_end(&call, answer);
}

static CUresult begin(struct call *call, const char *name, CUfunction function)
{
	CUresult answer = call_begin(call, name, CURRENT | FAST);
	return answer == CUDA_SUCCESS && !object_is(function, FUNCTION) ? CUDA_ERROR_INVALID_HANDLE : answer;
}

/* Returns the attributes of a small kernel for compute capability 9.0. */
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
	struct call call;
	static const int values[CU_FUNC_ATTRIBUTE_MAX] = {
		[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
		[CU_FUNC_ATTRIBUTE_NUM_REGS] = 32,
		[CU_FUNC_ATTRIBUTE_PTX_VERSION] = 90,
		[CU_FUNC_ATTRIBUTE_BINARY_VERSION] = 90,
		[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = 49152,
	};
	CUresult answer = begin(&call, "cuFuncGetAttribute", function);
	if (answer == CUDA_SUCCESS && (!value || (unsigned int)attribute >= CU_FUNC_ATTRIBUTE_MAX))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		*value = values[attribute];
	return call_end(&call, answer);
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	struct call call;
	(void)value;
	CUresult answer = begin(&call, "cuFuncSetAttribute", function);
	if (answer == CUDA_SUCCESS && (unsigned int)attribute >= CU_FUNC_ATTRIBUTE_MAX)
		answer = CUDA_ERROR_INVALID_VALUE;
	return call_end(&call, answer);
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache configuration)
{
	struct call call;
	(void)configuration;
	CUresult answer = begin(&call, "cuFuncSetCacheConfig", function);
	return call_end(&call, answer);
}

/* The number of blocks for which a multiprocessor has threads, at most MOST. */
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function, int block, size_t shared,
                                                              unsigned int flags)
{
	enum { THREADS = 2048, MOST = 32 };
	struct call call;
	(void)shared, (void)flags;
	CUresult answer = begin(&call, "cuOccupancyMaxActiveBlocksPerMultiprocessor", function);
	if (answer == CUDA_SUCCESS && (!blocks || block <= 0))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		*blocks = THREADS / block < MOST ? THREADS / block : MOST;
	return call_end(&call, answer);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int block, size_t shared)
{
	return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block, shared, 0);
}

static CUresult launch(const char *name, CUfunction function, int sized, CUstream handle, enum default_stream twin)
{
	struct call call;
	struct CUstream_st *stream;
	CUresult answer = begin(&call, name, function);
	if (answer == CUDA_SUCCESS && !sized)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		answer = stream_of(&call, handle, twin, &stream);
	return call_end(&call, answer);
}

#define LAUNCH(symbol, twin)                                                                                            \
	CUresult symbol(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,                 \
	                unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,              \
	                CUstream stream, void **parameters, void **extra)                                                   \
	{                                                                                                                   \
		(void)shared, (void)parameters, (void)extra;                                                                    \
		int sized = grid_x && grid_y && grid_z && block_x && block_y && block_z;                                        \
		return launch("cuLaunchKernel", function, sized, stream, twin);                                                 \
	}
LAUNCH(cuLaunchKernel, LEGACY)
LAUNCH(cuLaunchKernel_ptsz, PER_THREAD)
#undef LAUNCH

static CUresult launch_configured(const CUlaunchConfig *is, CUfunction function, enum default_stream twin)
{
	int sized = is && is->gridDimX && is->gridDimY && is->gridDimZ && is->blockDimX && is->blockDimY && is->blockDimZ;
	return launch("cuLaunchKernelEx", function, sized, is ? is->hStream : NULL, twin);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *configuration, CUfunction function, void **parameters, void **extra)
{
	(void)parameters, (void)extra;
	return launch_configured(configuration, function, LEGACY);
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *configuration, CUfunction function, void **parameters, void **extra)
{
	(void)parameters, (void)extra;
	return launch_configured(configuration, function, PER_THREAD);
}

/* Error codes, and the last error of each thread. */
#include "runtime.h"

struct description {
	int error;
	const char *name, *text;
};

static const struct description descriptions[] = {
#define ERROR(name, number, text) { number, #name, text },
#include "errors.h"
#undef ERROR
};

#ifdef REAL_CUDA_RUNTIME_HEADER
#define ERROR(name, number, text) _Static_assert((int)name == number, #name);
#include "errors.h"
#undef ERROR
#endif

static _Thread_local cudaError_t last;

cudaError_t record(cudaError_t error)
{
	if (error != cudaSuccess)
		last = error;
	return error;
}

cudaError_t cudaGetLastError(void)
{
	cudaError_t error = last;
	last = cudaSuccess;
	return error;
}

cudaError_t cudaPeekAtLastError(void)
{
	return last;
}

static const struct description *describe(cudaError_t error)
{
	static const struct description unknown = { 0, "unrecognized error code", "unrecognized error code" };
	for (size_t i = 0; i < sizeof descriptions / sizeof *descriptions; i++)
		if (descriptions[i].error == (int)error)
			return &descriptions[i];
	return &unknown;
}

const char *cudaGetErrorName(cudaError_t error)
{
	return describe(error)->name;
}

const char *cudaGetErrorString(cudaError_t error)
{
	return describe(error)->text;
}

/* Finding the driver, and what each call needs first. */
#include "runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

struct driver driver;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cudaError_t unusable = cudaErrorInsufficientDriver;
static _Atomic int initialised;

/* Finds every driver call. If one is missing or the driver is too old, unusable stays cudaErrorInsufficientDriver. */
static void load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	__typeof__(cuGetProcAddress_v2) *find = NULL;
	if (library)
		*(void **)&find = dlsym(library, "cuGetProcAddress_v2");
	if (!find)
		return;
	int found = 1, version = 0;
#define FIND(name, version, symbol)                                                                          \
	found &= find(#name, (void **)&driver.name, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, NULL) == CUDA_SUCCESS && \
	         driver.name;
	DRIVER_CALLS(FIND)
#undef FIND
	/* A runtime works with every driver of its major version or a later one. */
	if (found && driver.cuDriverGetVersion(&version) == CUDA_SUCCESS && version / 1000 >= RUNTIME_VERSION / 1000)
		unusable = cudaSuccess;
}

/* In a forked child initialised stays set, and the driver reports that it is not initialised there. */
cudaError_t driver_ready(void)
{
	pthread_once(&once, load);
	if (unusable || initialised)
		return unusable;
	cudaError_t answer = (cudaError_t)driver.cuInit(0);
	initialised = answer == cudaSuccess;
	return answer;
}

cudaError_t context_ready(void)
{
	CUcontext current = NULL;
	cudaError_t answer = driver_ready() ?: (cudaError_t)driver.cuCtxGetCurrent(&current);
	return answer || current ? answer : thread_device_ready();
}

/* Devices. Each thread has a current device. The device's primary context becomes current in the
 * thread at the first call that needs a context. */
#include "runtime.h"

#include <pthread.h>

enum { MOST = 64 };

static _Thread_local int thread_device;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static CUcontext primary[MOST]; /* retained once, until cudaDeviceReset */

/*
 * Does what NVIDIA's runtime does (libcudart 13.0, with cudaMalloc and cudaSetDevice): it first makes
 * the context current, by a handle from a private function of the driver, and then retains it.
 */
static CUresult make_current(CUcontext *context, CUdevice device)
{
	static const unsigned char runtime[16] = { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
		                                   0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9 };
	const void *table;
	CUresult answer = driver.cuGetExportTable(&table, (const CUuuid *)runtime);
	if (answer != CUDA_SUCCESS)
		return answer;
	CUresult (*handle)(CUcontext *, CUdevice) = ((__typeof__(handle) const *)table)[2];
	return handle(context, device) ?: driver.cuCtxSetCurrent(*context) ?: driver.cuDevicePrimaryCtxRetain(context, device);
}

cudaError_t thread_device_ready(void)
{
	pthread_mutex_lock(&mutex);
	CUcontext context = primary[thread_device];
	CUresult answer = context ? driver.cuCtxSetCurrent(context) : make_current(&context, thread_device);
	if (answer == CUDA_SUCCESS)
		primary[thread_device] = context;
	pthread_mutex_unlock(&mutex);
	return (cudaError_t)answer;
}

cudaError_t cudaDriverGetVersion(int *version)
{
	if (!version)
		return record(cudaErrorInvalidValue);
	*version = 0; /* "If no driver is installed, then 0 is returned" */
	driver_ready();
	return driver.cuDriverGetVersion ? record((cudaError_t)driver.cuDriverGetVersion(version)) : cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return record(cudaErrorInvalidValue);
	*version = RUNTIME_VERSION;
	return cudaSuccess;
}

static cudaError_t entry_point(const char *symbol, void **function, int version, unsigned long long flags,
                               enum cudaDriverEntryPointQueryResult *result)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	cudaError_t answer = WITH_DRIVER(cuGetProcAddress, symbol, function, version, flags, &found);
	if (result)
		*result = (enum cudaDriverEntryPointQueryResult)found;
	return answer;
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *result)
{
	return entry_point(symbol, function, RUNTIME_VERSION, flags, result);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned int version,
                                             unsigned long long flags, enum cudaDriverEntryPointQueryResult *result)
{
	return entry_point(symbol, function, (int)version, flags, result);
}

cudaError_t cudaGetDeviceCount(int *count)
{
	if (!count)
		return record(cudaErrorInvalidValue);
	*count = 0;
	cudaError_t answer = WITH_DRIVER(cuDeviceGetCount, count);
	return answer || *count > 0 ? answer : record(cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int *device)
{
	CUcontext current = NULL;
	cudaError_t answer = device ? WITH_DRIVER(cuCtxGetCurrent, &current) : record(cudaErrorInvalidValue);
	if (answer == cudaSuccess && current)
		return record((cudaError_t)driver.cuCtxGetDevice(device));
	if (answer == cudaSuccess)
		*device = thread_device;
	return answer;
}

/* "will now explicitly initialize the runtime": since CUDA 12.0 this makes a context. */
cudaError_t cudaSetDevice(int device)
{
	int count = 0;
	cudaError_t answer = cudaGetDeviceCount(&count);
	if (answer == cudaSuccess && (device < 0 || device >= count || device >= MOST))
		answer = record(cudaErrorInvalidDevice);
	if (answer != cudaSuccess)
		return answer;
	thread_device = device;
	return record(thread_device_ready());
}

/* "initializes the CUDA Runtime structures and primary context on device but ... does not switch". */
cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags)
{
	(void)device_flags, (void)flags;
	CUcontext current = NULL;
	int before = thread_device;
	cudaError_t answer = WITH_DRIVER(cuCtxGetCurrent, &current);
	answer = answer ?: cudaSetDevice(device);
	thread_device = before;
	return answer ?: record((cudaError_t)driver.cuCtxSetCurrent(current));
}

cudaError_t cudaDeviceReset(void)
{
	int device;
	cudaError_t answer = cudaGetDevice(&device);
	if (answer != cudaSuccess)
		return answer;
	pthread_mutex_lock(&mutex);
	primary[device] = NULL;
	pthread_mutex_unlock(&mutex);
	driver.cuCtxSetCurrent(NULL);
	return record((cudaError_t)driver.cuDevicePrimaryCtxReset(device));
}

cudaError_t cudaDeviceSynchronize(void)
{
	return WITH_CONTEXT(cuCtxSynchronize, );
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
	return WITH_DRIVER(cuDeviceGetAttribute, value, (CUdevice_attribute)attribute, device);
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device)
{
	return WITH_DRIVER(cuDeviceGetPCIBusId, id, length, device);
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id)
{
	return WITH_DRIVER(cuDeviceGetByPCIBusId, device, id);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	return WITH_CONTEXT(cuCtxGetStreamPriorityRange, least, greatest);
}

cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit)
{
	return WITH_CONTEXT(cuCtxGetLimit, value, (CUlimit)limit);
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	return WITH_CONTEXT(cuCtxSetLimit, (CUlimit)limit, value);
}

cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
	int device = 0, active;
	cudaError_t answer = cudaGetDevice(&device);
	return answer ?: record((cudaError_t)driver.cuDevicePrimaryCtxGetState(device, flags, &active));
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
	int device = 0;
	cudaError_t answer = cudaGetDevice(&device);
	return answer ?: record((cudaError_t)driver.cuDevicePrimaryCtxSetFlags(device, flags));
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	return WITH_DRIVER(cuDeviceCanAccessPeer, can, device, peer);
}

/* The primary context of another device, made if there is none yet. */
static cudaError_t peer_context(int peer, CUcontext *context)
{
	CUcontext current = NULL;
	cudaError_t answer = context_ready() ?: (cudaError_t)driver.cuCtxGetCurrent(&current);
	int before = thread_device;
	answer = answer ?: cudaSetDevice(peer) ?: (cudaError_t)driver.cuCtxGetCurrent(context);
	thread_device = before;
	return current ? answer ?: (cudaError_t)driver.cuCtxSetCurrent(current) : answer;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
	CUcontext context = NULL;
	return record(peer_context(peer, &context) ?: (cudaError_t)driver.cuCtxEnablePeerAccess(context, flags));
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
	CUcontext context = NULL;
	return record(peer_context(peer, &context) ?: (cudaError_t)driver.cuCtxDisablePeerAccess(context));
}

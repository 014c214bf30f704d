/*
 * NVIDIA's runtime API over the driver API, for programs that link
 * libcudart.so.12 or .13. The library has no GPU memory of its own: its calls
 * make calls of the driver. It finds the driver's calls as NVIDIA's own library
 * does, so a probe of the driver API sees the same calls.
 *
 *   program ── cuda* ──→ this ── dlopen("libcuda.so.1"), cuGetProcAddress_v2 ──→ cu*
 *   nvcc's code ── __cudaRegister*, launches ──→ nothing: no kernel ever runs
 */
#ifndef VRAMSCOPE_FAKE_CUDART_RUNTIME_H
#define VRAMSCOPE_FAKE_CUDART_RUNTIME_H

#include "api.h"

/* The driver's calls: name, CUDA version that selects the form of the call, symbol of that form in cuda.h. */
#define DRIVER_CALLS(X) \
	X(cuInit, 2000, cuInit) \
	X(cuDriverGetVersion, 2020, cuDriverGetVersion) \
	X(cuGetProcAddress, 12000, cuGetProcAddress_v2) \
	X(cuModuleLoadData, 2000, cuModuleLoadData) \
	X(cuModuleGetFunction, 2000, cuModuleGetFunction) \
	X(cuDeviceGetCount, 2000, cuDeviceGetCount) \
	X(cuDeviceGetName, 2000, cuDeviceGetName) \
	X(cuDeviceGetUuid, 11040, cuDeviceGetUuid_v2) \
	X(cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2) \
	X(cuDeviceGetAttribute, 2000, cuDeviceGetAttribute) \
	X(cuDeviceGetPCIBusId, 4010, cuDeviceGetPCIBusId) \
	X(cuDeviceGetByPCIBusId, 4010, cuDeviceGetByPCIBusId) \
	X(cuDeviceCanAccessPeer, 4000, cuDeviceCanAccessPeer) \
	X(cuGetExportTable, 3000, cuGetExportTable) \
	X(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain) \
	X(cuDevicePrimaryCtxReset, 11000, cuDevicePrimaryCtxReset_v2) \
	X(cuDevicePrimaryCtxGetState, 7000, cuDevicePrimaryCtxGetState) \
	X(cuDevicePrimaryCtxSetFlags, 11000, cuDevicePrimaryCtxSetFlags_v2) \
	X(cuCtxSetCurrent, 4000, cuCtxSetCurrent) \
	X(cuCtxGetCurrent, 4000, cuCtxGetCurrent) \
	X(cuCtxGetDevice, 2000, cuCtxGetDevice) \
	X(cuCtxSynchronize, 2000, cuCtxSynchronize) \
	X(cuCtxGetStreamPriorityRange, 5050, cuCtxGetStreamPriorityRange) \
	X(cuCtxGetLimit, 3010, cuCtxGetLimit) \
	X(cuCtxSetLimit, 3010, cuCtxSetLimit) \
	X(cuCtxEnablePeerAccess, 4000, cuCtxEnablePeerAccess) \
	X(cuCtxDisablePeerAccess, 4000, cuCtxDisablePeerAccess) \
	X(cuMemGetInfo, 3020, cuMemGetInfo_v2) \
	X(cuMemAlloc, 3020, cuMemAlloc_v2) \
	X(cuMemAllocPitch, 3020, cuMemAllocPitch_v2) \
	X(cuMemAllocManaged, 6000, cuMemAllocManaged) \
	X(cuMemFree, 3020, cuMemFree_v2) \
	X(cuMemAllocHost, 3020, cuMemAllocHost_v2) \
	X(cuMemHostAlloc, 2020, cuMemHostAlloc) \
	X(cuMemHostRegister, 6050, cuMemHostRegister_v2) \
	X(cuMemHostUnregister, 4000, cuMemHostUnregister) \
	X(cuMemHostGetDevicePointer, 3020, cuMemHostGetDevicePointer_v2) \
	X(cuMemFreeHost, 2000, cuMemFreeHost) \
	X(cuPointerGetAttribute, 4000, cuPointerGetAttribute) \
	X(cuIpcGetMemHandle, 4010, cuIpcGetMemHandle) \
	X(cuIpcOpenMemHandle, 11000, cuIpcOpenMemHandle_v2) \
	X(cuIpcCloseMemHandle, 4010, cuIpcCloseMemHandle) \
	X(cuIpcGetEventHandle, 4010, cuIpcGetEventHandle) \
	X(cuIpcOpenEventHandle, 4010, cuIpcOpenEventHandle) \
	X(cuMemcpy, 4000, cuMemcpy) \
	X(cuMemcpyAsync, 4000, cuMemcpyAsync) \
	X(cuMemsetD8, 3020, cuMemsetD8_v2) \
	X(cuMemsetD8Async, 3020, cuMemsetD8Async) \
	X(cuMemAllocAsync, 11020, cuMemAllocAsync) \
	X(cuMemAllocFromPoolAsync, 11020, cuMemAllocFromPoolAsync) \
	X(cuMemFreeAsync, 11020, cuMemFreeAsync) \
	X(cuDeviceGetDefaultMemPool, 11020, cuDeviceGetDefaultMemPool) \
	X(cuDeviceGetMemPool, 11020, cuDeviceGetMemPool) \
	X(cuDeviceSetMemPool, 11020, cuDeviceSetMemPool) \
	X(cuMemPoolCreate, 11020, cuMemPoolCreate) \
	X(cuMemPoolDestroy, 11020, cuMemPoolDestroy) \
	X(cuMemPoolTrimTo, 11020, cuMemPoolTrimTo) \
	X(cuMemPoolGetAttribute, 11020, cuMemPoolGetAttribute) \
	X(cuMemPoolSetAttribute, 11020, cuMemPoolSetAttribute) \
	X(cuMemPoolSetAccess, 11020, cuMemPoolSetAccess) \
	X(cuDeviceGetGraphMemAttribute, 11040, cuDeviceGetGraphMemAttribute) \
	X(cuDeviceSetGraphMemAttribute, 11040, cuDeviceSetGraphMemAttribute) \
	X(cuDeviceGraphMemTrim, 11040, cuDeviceGraphMemTrim) \
	X(cuStreamCreate, 2000, cuStreamCreate) \
	X(cuStreamCreateWithPriority, 5050, cuStreamCreateWithPriority) \
	X(cuStreamDestroy, 4000, cuStreamDestroy_v2) \
	X(cuStreamSynchronize, 2000, cuStreamSynchronize) \
	X(cuStreamQuery, 2000, cuStreamQuery) \
	X(cuStreamGetFlags, 5050, cuStreamGetFlags) \
	X(cuStreamGetPriority, 5050, cuStreamGetPriority) \
	X(cuStreamWaitEvent, 3020, cuStreamWaitEvent) \
	X(cuLaunchHostFunc, 10000, cuLaunchHostFunc) \
	X(cuEventCreate, 2000, cuEventCreate) \
	X(cuEventDestroy, 4000, cuEventDestroy_v2) \
	X(cuEventRecord, 2000, cuEventRecord) \
	X(cuEventRecordWithFlags, 11010, cuEventRecordWithFlags) \
	X(cuEventQuery, 2000, cuEventQuery) \
	X(cuEventSynchronize, 2000, cuEventSynchronize) \
	X(cuEventElapsedTime, 2000, cuEventElapsedTime) \
	X(cuThreadExchangeStreamCaptureMode, 10010, cuThreadExchangeStreamCaptureMode) \
	X(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2) \
	X(cuStreamEndCapture, 10000, cuStreamEndCapture) \
	X(cuStreamIsCapturing, 10000, cuStreamIsCapturing) \
	X(cuStreamGetCaptureInfo, 11030, cuStreamGetCaptureInfo_v2) \
	X(cuGraphInstantiateWithFlags, 11040, cuGraphInstantiateWithFlags) \
	X(cuGraphLaunch, 10000, cuGraphLaunch) \
	X(cuGraphExecDestroy, 10000, cuGraphExecDestroy) \
	X(cuGraphDestroy, 10000, cuGraphDestroy)

struct driver {
#define MEMBER(name, version, symbol) __typeof__(symbol) *name;
	DRIVER_CALLS(MEMBER)
#undef MEMBER
};
extern struct driver driver;

/* driver.c: driver_ready initialises the driver; context_ready also makes a context current. */
cudaError_t driver_ready(void);
cudaError_t context_ready(void);
/* device.c: makes the primary context of the thread's device current. */
cudaError_t thread_device_ready(void);
/* error.c: notes an error for cudaGetLastError, and returns it. */
cudaError_t record(cudaError_t error);

/* Answers a call of the runtime with a call of the driver. */
#define WITH_DRIVER(name, ...) record(driver_ready() ?: (cudaError_t)driver.name(__VA_ARGS__))
#define WITH_CONTEXT(name, ...) record(context_ready() ?: (cudaError_t)driver.name(__VA_ARGS__))

#endif

/*
 * A CUDA runtime and driver without a GPU, only for PyTorch's allocator: vramscope what-if
 * replays a program's allocations on it. It returns addresses that must not be read, counts
 * memory, and fails where a GPU of that size would. Functions that the allocator does not need
 * answer that they are not supported. There is one GPU, and one thread.
 *
 * replay.py loads three copies of this library, with the names libcudart.so.12 or 13,
 * libcuda.so.1 and libnvidia-ml.so.1. All three use the variables of the first.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_DEVICE = 101, NOT_SUPPORTED = 801 };
enum { PAGE = 2 << 20 }; /* the least that the driver hands out */

/* What cudaMalloc, cuMemCreate or cuMemAddressReserve returned; for the last, memory is 0. */
struct piece {
	uint64_t at, size;
	int memory;
	struct piece *next;
};

enum { BUCKETS = 1 << 14 };
EXPORT struct piece *whatif_pieces[BUCKETS];
EXPORT uint64_t whatif_used, whatif_total;
EXPORT uint64_t whatif_next = (uint64_t)1 << 44; /* address */
EXPORT int whatif_version;
static int last; /* error */

/* The replay calls this first. */
EXPORT void whatif_begin(int version, uint64_t total)
{
	whatif_version = version;
	whatif_total = total;
}

static struct piece **bucket(uint64_t at)
{
	return &whatif_pieces[at / PAGE % BUCKETS];
}

/* Returns an address, 0 if there is no room. */
static uint64_t take(uint64_t size, int memory)
{
	if (size > whatif_total * 2)
		return 0;
	size = (size + PAGE - 1) / PAGE * PAGE;
	struct piece *piece = malloc(sizeof *piece);
	if (!piece || (memory && whatif_used + size > whatif_total)) {
		free(piece);
		return 0;
	}
	*piece = (struct piece){ whatif_next, size, memory, *bucket(whatif_next) };
	*bucket(whatif_next) = piece;
	whatif_next += size;
	whatif_used += memory ? size : 0;
	return piece->at;
}

static int give(uint64_t at)
{
	struct piece **link = bucket(at);
	while (*link && (*link)->at != at)
		link = &(*link)->next;
	struct piece *piece = *link;
	if (!piece)
		return INVALID_VALUE;
	*link = piece->next;
	whatif_used -= piece->memory ? piece->size : 0;
	free(piece);
	return SUCCESS;
}

static int failed(int error)
{
	return last = error;
}

/* The device. */

EXPORT int cudaGetDeviceCount(int *count)
{
	*count = 1;
	return SUCCESS;
}

EXPORT int cudaGetDevice(int *device)
{
	*device = 0;
	return SUCCESS;
}

EXPORT int cudaSetDevice(int device)
{
	return device == 0 ? SUCCESS : failed(INVALID_DEVICE);
}

/* The first members of cudaDeviceProp, the same in CUDA 12 and 13; the struct of 13 is the smaller one. */
struct properties {
	char name[256], uuid[16], luid[8];
	unsigned mask;
	size_t memory, shared;
	int registers, warp;
	size_t pitch;
	int threads, block[3], grid[3], clock;
	size_t constants;
	int major, minor;
};
enum { PROPERTIES = 1008 };

EXPORT int cudaGetDeviceProperties(struct properties *properties, int device)
{
	memset(properties, 0, PROPERTIES);
	strcpy(properties->name, "what-if");
	properties->memory = whatif_total;
	properties->warp = 32;
	properties->threads = 1024;
	properties->major = 8;
	return SUCCESS;
}

EXPORT int cudaGetDeviceProperties_v2(struct properties *properties, int device)
{
	return cudaGetDeviceProperties(properties, device);
}

static int zero(int *value)
{
	*value = 0;
	return SUCCESS;
}

EXPORT int cudaDeviceGetAttribute(int *value, int attribute, int device) { return zero(value); }
EXPORT int cudaDeviceCanAccessPeer(int *can, int device, int peer) { return zero(can); }

EXPORT int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	if (least)
		*least = 0;
	if (greatest)
		*greatest = -5;
	return SUCCESS;
}

EXPORT int cudaRuntimeGetVersion(int *version)
{
	*version = whatif_version;
	return SUCCESS;
}

EXPORT int cudaDriverGetVersion(int *version) { return cudaRuntimeGetVersion(version); }

/* Memory. */

EXPORT int cudaMalloc(void **pointer, size_t size)
{
	*pointer = (void *)take(size, 1);
	return *pointer ? SUCCESS : failed(OUT_OF_MEMORY);
}

EXPORT int cudaFree(void *pointer)
{
	return pointer ? failed(give((uint64_t)pointer)) : SUCCESS;
}

EXPORT int cudaMemGetInfo(size_t *unused, size_t *total)
{
	*unused = whatif_total - whatif_used;
	*total = whatif_total;
	return SUCCESS;
}

/* Streams and events: these calls succeed at once. */

static int make(void **handle)
{
	static uintptr_t made;
	*handle = (void *)(++made * 16);
	return SUCCESS;
}

EXPORT int cudaStreamCreate(void **stream) { return make(stream); }
EXPORT int cudaStreamCreateWithFlags(void **stream, unsigned flags) { return make(stream); }
EXPORT int cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority) { return make(stream); }
EXPORT int cudaEventCreate(void **event) { return make(event); }
EXPORT int cudaEventCreateWithFlags(void **event, unsigned flags) { return make(event); }
EXPORT int cudaStreamIsCapturing(void *stream, int *capturing) { return zero(capturing); }
EXPORT int cudaStreamGetCaptureInfo(void *stream, int *capturing) { return zero(capturing); }
EXPORT int cudaStreamGetCaptureInfo_v2(void *stream, int *capturing) { return zero(capturing); }

EXPORT int whatif_done(void)
{
	return SUCCESS;
}
#define DONE(name) EXPORT __attribute__((alias("whatif_done"))) int name(void);
DONE(cudaDeviceSynchronize) DONE(cudaDeviceEnablePeerAccess) DONE(cudaThreadExchangeStreamCaptureMode)
DONE(cudaEventDestroy) DONE(cudaEventQuery) DONE(cudaEventRecord) DONE(cudaEventRecordWithFlags) DONE(cudaEventSynchronize)
DONE(cudaStreamDestroy) DONE(cudaStreamQuery) DONE(cudaStreamSynchronize) DONE(cudaStreamWaitEvent)
DONE(__cudaRegisterFatBinaryEnd) DONE(__cudaUnregisterFatBinary) DONE(__cudaRegisterFunction) DONE(__cudaRegisterVar)

EXPORT void **__cudaRegisterFatBinary(void *binary)
{
	static void *handle;
	return &handle;
}

EXPORT int cudaPeekAtLastError(void)
{
	return last;
}

EXPORT int cudaGetLastError(void)
{
	int error = last;
	last = SUCCESS;
	return error;
}

EXPORT const char *cudaGetErrorString(int error)
{
	return error == OUT_OF_MEMORY ? "out of memory" : "not supported by what-if";
}

EXPORT const char *cudaGetErrorName(int error) { return cudaGetErrorString(error); }

/* The driver, for expandable segments. */

EXPORT int cuGetErrorString(int error, const char **text)
{
	*text = cudaGetErrorString(error);
	return SUCCESS;
}

EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{
	*flags = 0;
	*active = 1;
	return SUCCESS;
}

EXPORT int cuCtxGetCurrent(void **context)
{
	*context = &whatif_pieces;
	return SUCCESS;
}

EXPORT int cuDeviceGet(int *device, int ordinal) { return zero(device); }
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) { return zero(value); }

EXPORT int cuMemGetAllocationGranularity(size_t *granularity, const void *properties, int option)
{
	*granularity = PAGE;
	return SUCCESS;
}

EXPORT int cuMemAddressReserve(uint64_t *at, size_t size, size_t alignment, uint64_t wished, unsigned long long flags)
{
	*at = take(size, 0);
	return *at ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT int cuMemCreate(uint64_t *handle, size_t size, const void *properties, unsigned long long flags)
{
	*handle = take(size, 1);
	return *handle ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT int cuMemAddressFree(uint64_t at, size_t size) { return give(at); }
EXPORT int cuMemRelease(uint64_t handle) { return give(handle); }

DONE(cuMemMap) DONE(cuMemUnmap) DONE(cuMemSetAccess) DONE(nvmlInit_v2) DONE(nvmlDeviceGetHandleByPciBusId_v2)

EXPORT int whatif_unsupported(void)
{
	return NOT_SUPPORTED;
}

/* How PyTorch finds the driver's functions. */
extern void *dlsym(void *library, const char *name);

EXPORT int cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version, unsigned long long flags, int *result)
{
	*function = dlsym(NULL, name);
	if (!*function)
		*function = (void *)whatif_unsupported;
	if (result)
		*result = SUCCESS;
	return SUCCESS;
}

EXPORT int cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags, int *result)
{
	return cudaGetDriverEntryPointByVersion(name, function, 0, flags, result);
}

/* PyTorch names the processes of the GPU in its out-of-memory error. */
EXPORT int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned int *count, void *processes)
{
	(void)device, (void)processes;
	*count = 0;
	return 0;
}

#define STUB(name) EXPORT __attribute__((alias("whatif_unsupported"))) int name(void);
STUB(__cudaGetKernel) STUB(__cudaInitModule) STUB(__cudaLaunchKernel) STUB(__cudaPopCallConfiguration)
STUB(__cudaPushCallConfiguration) STUB(__cudaRegisterManagedVar) STUB(cuCtxSetCurrent)
STUB(cuDevicePrimaryCtxRetain) STUB(cuFuncGetAttribute) STUB(cuFuncSetAttribute)
STUB(cuFuncSetCacheConfig) STUB(cuLaunchCooperativeKernel) STUB(cuLaunchKernel) STUB(cuLinkAddData_v2)
STUB(cuLinkComplete) STUB(cuLinkCreate_v2) STUB(cuModuleGetFunction) STUB(cuModuleLoad) STUB(cuModuleLoadData)
STUB(cuModuleLoadDataEx) STUB(cuModuleUnload) STUB(cuOccupancyMaxActiveBlocksPerMultiprocessor)
STUB(cuPointerGetAttribute) STUB(cuTensorMapEncodeTiled) STUB(cudaDeviceGetDefaultMemPool)
STUB(cudaDeviceGetGraphMemAttribute) STUB(cudaDeviceGetLimit) STUB(cudaDeviceGetPCIBusId) STUB(cudaDeviceReset)
STUB(cudaDeviceSetGraphMemAttribute) STUB(cudaDeviceSetLimit) STUB(cudaEventElapsedTime) STUB(cudaFreeAsync)
STUB(cudaFreeHost) STUB(cudaFuncGetAttributes) STUB(cudaFuncSetAttribute) STUB(cudaFuncSetCacheConfig)
STUB(cudaGetFuncBySymbol) STUB(cudaGetSymbolAddress) STUB(cudaGraphAddNode) STUB(cudaGraphConditionalHandleCreate)
STUB(cudaGraphDebugDotPrint) STUB(cudaGraphDestroy) STUB(cudaGraphExecDestroy) STUB(cudaGraphGetNodes)
STUB(cudaGraphInstantiate) STUB(cudaGraphInstantiateWithFlags) STUB(cudaGraphLaunch)
STUB(cudaGraphNodeGetDependencies) STUB(cudaGraphRetainUserObject) STUB(cudaHostAlloc)
STUB(cudaHostGetDevicePointer) STUB(cudaHostRegister) STUB(cudaHostUnregister) STUB(cudaIpcCloseMemHandle)
STUB(cudaIpcGetEventHandle) STUB(cudaIpcGetMemHandle) STUB(cudaIpcOpenEventHandle) STUB(cudaIpcOpenMemHandle)
STUB(cudaKernelSetAttributeForDevice) STUB(cudaLaunchCooperativeKernel) STUB(cudaLaunchHostFunc)
STUB(cudaLaunchKernel) STUB(cudaLaunchKernelExC) STUB(cudaLibraryGetGlobal) STUB(cudaLibraryGetKernel)
STUB(cudaLibraryGetKernelCount) STUB(cudaLibraryGetManaged) STUB(cudaLibraryGetUnifiedFunction)
STUB(cudaLibraryLoadData) STUB(cudaLibraryLoadFromFile) STUB(cudaLibraryUnload) STUB(cudaMallocAsync)
STUB(cudaMallocHost) STUB(cudaMallocManaged) STUB(cudaMemAdvise) STUB(cudaMemPoolGetAttribute)
STUB(cudaMemPoolSetAccess) STUB(cudaMemPoolSetAttribute) STUB(cudaMemPoolTrimTo) STUB(cudaMemPrefetchAsync)
STUB(cudaMemcpy) STUB(cudaMemcpy2DAsync) STUB(cudaMemcpyAsync) STUB(cudaMemcpyPeer) STUB(cudaMemcpyPeerAsync)
STUB(cudaMemcpyToSymbol) STUB(cudaMemset) STUB(cudaMemset2DAsync) STUB(cudaMemsetAsync)
STUB(cudaOccupancyMaxActiveBlocksPerMultiprocessor) STUB(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
STUB(cudaPointerGetAttributes) STUB(cudaProfilerStart) STUB(cudaProfilerStop) STUB(cudaStreamAddCallback)
STUB(cudaStreamAttachMemAsync) STUB(cudaStreamBeginCapture) STUB(cudaStreamBeginCaptureToGraph)
STUB(cudaStreamEndCapture) STUB(cudaStreamGetAttribute) STUB(cudaStreamGetPriority) STUB(cudaStreamSetAttribute)
STUB(cudaStreamUpdateCaptureDependencies) STUB(cudaUserObjectCreate) STUB(cudaUserObjectRelease)
STUB(nvmlDeviceGetNvLinkRemoteDeviceType) STUB(nvmlDeviceGetNvLinkRemotePciInfo_v2)
STUB(nvmlSystemGetCudaDriverVersion_v2) STUB(nvmlDeviceGetGpuFabricInfoV)

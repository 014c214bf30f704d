/*
 * The part of NVIDIA's runtime API that this library has: names, numbers and
 * prototypes as https://docs.nvidia.com/cuda/cuda-runtime-api/ gives them, for
 * the versions 12 and 13 (RUNTIME_VERSION).
 *
 * With -DREAL_CUDA_RUNTIME_HEADER they come from NVIDIA's own cuda_runtime_api.h
 * instead. Where that header is installed, a test compiles everything against it, so
 * the compiler checks every prototype. Another test compares the layout of the structs.
 */
#ifndef VRAMSCOPE_FAKE_CUDART_API_H
#define VRAMSCOPE_FAKE_CUDART_API_H

#include "../cuda/api.h"

#ifdef REAL_CUDA_RUNTIME_HEADER
#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
#pragma GCC visibility pop
#else

typedef enum cudaError {
#define ERROR(name, number, text) name = number,
#include "errors.h"
#undef ERROR
} cudaError_t;

/* Handles are the driver's own. */
typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUgraph cudaGraph_t;
typedef CUgraphExec cudaGraphExec_t;
typedef CUmemoryPool cudaMemPool_t;
typedef CUuuid cudaUUID_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;
typedef struct CUkern_st *cudaKernel_t;
typedef CUfunction cudaFunction_t;
typedef struct CUlib_st *cudaLibrary_t;
typedef struct CUuserObject_st *cudaUserObject_t;
typedef cuuint64_t cudaGraphConditionalHandle;
typedef CUhostFn cudaHostFn_t;
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *userData);

/* Where cuda.h has a corresponding enum, the numbers are the same. */
enum cudaDeviceAttr { cudaDevAttrMaxThreadsPerBlock = 1 };
enum cudaLimit { cudaLimitStackSize };
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum cudaMemPoolAttr { cudaMemPoolReuseFollowEventDependencies = 1 };
enum cudaGraphMemAttributeType { cudaGraphMemAttrUsedMemCurrent };
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaDriverEntryPointQueryResult { cudaDriverEntryPointSuccess };
enum cudaMemAccessFlags { cudaMemAccessFlagsProtNone, cudaMemAccessFlagsProtRead, cudaMemAccessFlagsProtReadWrite = 3 };
enum cudaJitOption { cudaJitMaxRegisters };
enum cudaLibraryOption { cudaLibraryHostUniversalFunctionAndDataTable };

/* These two are laid out as the driver's structs; a test compares them. */
struct cudaMemAccessDesc {
	struct {
		int type, id;
	} location;
	enum cudaMemAccessFlags flags;
};
struct cudaMemPoolProps {
	int allocType, handleTypes;
	struct {
		int type, id;
	} location;
	void *win32SecurityAttributes;
	size_t maxSize;
	unsigned short usage;
	unsigned char reserved[54];
};

enum cudaMemoryType {
	cudaMemoryTypeUnregistered,
	cudaMemoryTypeHost,
	cudaMemoryTypeDevice,
	cudaMemoryTypeManaged
};
struct cudaPointerAttributes {
	enum cudaMemoryType type;
	int device;
	void *devicePointer, *hostPointer;
#if RUNTIME_VERSION >= 13000
	long reserved[8];
#endif
};

struct cudaFuncAttributes {
	size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
	int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion, cacheModeCA, maxDynamicSharedSizeBytes;
	int preferredShmemCarveout, clusterDimMustBeSet;
	int requiredClusterWidth, requiredClusterHeight, requiredClusterDepth;
	int clusterSchedulingPolicyPreference, nonPortableClusterSizeAllowed;
	int reserved[16];
};

typedef struct dim3 {
	unsigned int x, y, z;
} dim3;
typedef struct cudaIpcMemHandle_st {
	char reserved[64];
} cudaIpcMemHandle_t;
typedef struct cudaIpcEventHandle_st {
	char reserved[64];
} cudaIpcEventHandle_t;

/* Only pointers to these are passed. */
typedef struct cudaLaunchConfig_st cudaLaunchConfig_t;
typedef struct cudaGraphEdgeData_st cudaGraphEdgeData;
struct cudaGraphNodeParams;

#include "properties.h"
#include "prototypes.h"
#endif

/* The functions that nvcc's compiled code calls; neither the documentation nor the headers of
 * the runtime's wheel have them. */
#pragma GCC visibility push(default)
void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads, void *first,
                            void *second, void *block, void *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external, size_t size,
                       int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int external, size_t size,
                              int constant, int global);
char __cudaInitModule(void **handle);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, CUstream stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream);
#pragma GCC visibility pop

#endif

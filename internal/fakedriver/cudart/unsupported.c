/* Calls that programs link and that this library cannot answer: there are no variables and no
 * libraries, and the only graphs are captured ones.
 */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "runtime.h"

#define UNSUPPORTED(name, ...)                   \
	cudaError_t name(__VA_ARGS__)                \
	{                                            \
		return record(cudaErrorNotSupported);    \
	}
#define INVALID(name, ...)                       \
	cudaError_t name(__VA_ARGS__)                \
	{                                            \
		return record(cudaErrorInvalidSymbol);   \
	}

INVALID(cudaGetSymbolAddress, void **pointer, const void *symbol)
INVALID(cudaMemcpyToSymbol, const void *symbol, const void *from, size_t size, size_t offset, enum cudaMemcpyKind kind)
UNSUPPORTED(cudaLibraryLoadData, cudaLibrary_t *library, const void *code, enum cudaJitOption *options, void **values,
            unsigned int count, enum cudaLibraryOption *library_options, void **library_values, unsigned int library_count)
UNSUPPORTED(cudaLibraryLoadFromFile, cudaLibrary_t *library, const char *file, enum cudaJitOption *options, void **values,
            unsigned int count, enum cudaLibraryOption *library_options, void **library_values, unsigned int library_count)
UNSUPPORTED(cudaLibraryUnload, cudaLibrary_t library)
UNSUPPORTED(cudaLibraryGetKernel, cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
UNSUPPORTED(cudaLibraryGetKernelCount, unsigned int *count, cudaLibrary_t library)
UNSUPPORTED(cudaLibraryGetGlobal, void **pointer, size_t *size, cudaLibrary_t library, const char *name)
UNSUPPORTED(cudaLibraryGetManaged, void **pointer, size_t *size, cudaLibrary_t library, const char *name)
UNSUPPORTED(cudaLibraryGetUnifiedFunction, void **function, cudaLibrary_t library, const char *symbol)
UNSUPPORTED(cudaUserObjectCreate, cudaUserObject_t *object, void *pointer, cudaHostFn_t destroy, unsigned int references,
            unsigned int flags)
UNSUPPORTED(cudaUserObjectRelease, cudaUserObject_t object, unsigned int count)
UNSUPPORTED(cudaGraphRetainUserObject, cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags)
UNSUPPORTED(cudaGraphConditionalHandleCreate, cudaGraphConditionalHandle *handle, cudaGraph_t graph, unsigned int value,
            unsigned int flags)
UNSUPPORTED(cudaStreamBeginCaptureToGraph, cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
            const cudaGraphEdgeData *edges, size_t count, enum cudaStreamCaptureMode mode)
#if RUNTIME_VERSION < 13000
UNSUPPORTED(cudaGraphAddNode, cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count,
            struct cudaGraphNodeParams *parameters)
UNSUPPORTED(cudaGraphNodeGetDependencies, cudaGraphNode_t node, cudaGraphNode_t *dependencies, size_t *count)
UNSUPPORTED(cudaStreamUpdateCaptureDependencies, cudaStream_t stream, cudaGraphNode_t *dependencies, size_t count,
            unsigned int flags)
#else
UNSUPPORTED(cudaGraphAddNode, cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *dependencies,
            const cudaGraphEdgeData *edges, size_t count, struct cudaGraphNodeParams *parameters)
UNSUPPORTED(cudaGraphNodeGetDependencies, cudaGraphNode_t node, cudaGraphNode_t *dependencies, cudaGraphEdgeData *edges,
            size_t *count)
UNSUPPORTED(cudaStreamUpdateCaptureDependencies, cudaStream_t stream, cudaGraphNode_t *dependencies,
            const cudaGraphEdgeData *edges, size_t count, unsigned int flags)
#endif

/* Capturing streams into graphs. A graph lists no nodes, because no kernel runs. */
#include "runtime.h"

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	return WITH_DRIVER(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode *)mode);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	return WITH_CONTEXT(cuStreamBeginCapture, stream, (CUstreamCaptureMode)mode);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	return WITH_CONTEXT(cuStreamEndCapture, stream, graph);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status)
{
	return WITH_CONTEXT(cuStreamIsCapturing, stream, (CUstreamCaptureStatus *)status);
}

#if RUNTIME_VERSION < 13000
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                        unsigned long long *id, cudaGraph_t *graph,
                                        const cudaGraphNode_t **dependencies, size_t *count)
{
#else
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **dependencies,
                                     const cudaGraphEdgeData **edges, size_t *count)
{
	if (edges)
		*edges = NULL;
#endif
	return WITH_CONTEXT(cuStreamGetCaptureInfo, stream, (CUstreamCaptureStatus *)status, (cuuint64_t *)id, graph,
	                    (const CUgraphNode **)dependencies, count);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	return WITH_CONTEXT(cuGraphInstantiateWithFlags, exec, graph, flags);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	return WITH_CONTEXT(cuGraphInstantiateWithFlags, exec, graph, flags);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	return WITH_CONTEXT(cuGraphLaunch, exec, stream);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	return WITH_DRIVER(cuGraphExecDestroy, exec);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	return WITH_DRIVER(cuGraphDestroy, graph);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
	(void)nodes;
	if (!graph || !count)
		return record(cudaErrorInvalidValue);
	*count = 0;
	return cudaSuccess;
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
	(void)graph, (void)path, (void)flags;
	return record(cudaErrorNotSupported);
}

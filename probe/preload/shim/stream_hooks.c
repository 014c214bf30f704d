/* Begin and end of graph captures. */
#include "hooks.h"

static CUresult begun(CUresult answer, CUstream stream, int outer)
{
	if (answer == CUDA_SUCCESS && outer)
		capture_begun(stream);
	return answer;
}

/* An invalidated capture has ended, too. The error codes for that are adjacent, and the code for
 * the wrong thread is not among them. */
static CUresult ended(CUresult answer, CUstream stream, int outer)
{
	int spoilt = answer >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && answer <= CUDA_ERROR_CAPTURED_EVENT;
	if ((answer == CUDA_SUCCESS || spoilt) && outer)
		capture_ended(stream);
	return answer;
}

HOOK(cuStreamBeginCapture_v2, (stream, mode), CUstream stream, CUstreamCaptureMode mode)
{
	(void)caller;
	return begun(real(stream, mode), stream, outer);
}

HOOK(cuStreamBeginCapture_v2_ptsz, (stream, mode), CUstream stream, CUstreamCaptureMode mode)
{
	(void)caller;
	return begun(real(stream, mode), stream, outer);
}

#ifndef WITHOUT_CAPTURE_TO_GRAPH
HOOK(cuStreamBeginCaptureToGraph, (stream, graph, dependencies, edges, count, mode), CUstream stream, CUgraph graph,
     const CUgraphNode *dependencies, const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode)
{
	(void)caller;
	return begun(real(stream, graph, dependencies, edges, count, mode), stream, outer);
}

HOOK(cuStreamBeginCaptureToGraph_ptsz, (stream, graph, dependencies, edges, count, mode), CUstream stream, CUgraph graph,
     const CUgraphNode *dependencies, const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode)
{
	(void)caller;
	return begun(real(stream, graph, dependencies, edges, count, mode), stream, outer);
}
#endif

HOOK(cuStreamEndCapture, (stream, graph), CUstream stream, CUgraph *graph)
{
	(void)caller;
	return ended(real(stream, graph), stream, outer);
}

HOOK(cuStreamEndCapture_ptsz, (stream, graph), CUstream stream, CUgraph *graph)
{
	(void)caller;
	return ended(real(stream, graph), stream, outer);
}

HOOK(cuStreamDestroy_v2, (stream), CUstream stream)
{
	(void)caller;
	CUresult answer = real(stream);
	if (answer == CUDA_SUCCESS && outer)
		capture_ended(stream);
	return answer;
}

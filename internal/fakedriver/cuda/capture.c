/*
 * Capturing a stream into a graph (graph.c). Allocations come from the device's
 * pool for graphs.
 *
 * While a stream is captured, calls that might disturb it are forbidden:
 *
 *   a capture's mode    forbids them to
 *   global              the thread that captures, and every thread whose own mode is global
 *   thread-local        the thread that captures
 *   relaxed             no thread
 *
 * Nothing is forbidden to a thread whose own mode is relaxed.
 */
#include "driver.h"

static _Thread_local CUstreamCaptureMode thread_mode; /* global at first */

int capture_forbids(void)
{
	int forbidden = 0;
	for (struct CUstream_st *stream = own.capturing; stream; stream = stream->next_capturing) {
		int mine = stream->thread == thread_number();
		int counts = stream->mode == CU_STREAM_CAPTURE_MODE_GLOBAL ? mine || thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL
		                                                           : mine;
		if (stream->mode == CU_STREAM_CAPTURE_MODE_RELAXED || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED || !counts)
			continue;
		stream->capturing = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
		forbidden = 1;
	}
	return forbidden;
}

void capture_end(struct CUstream_st *stream)
{
	struct CUstream_st **link = &own.capturing;
	while (*link && *link != stream)
		link = &(*link)->next_capturing;
	if (*link)
		*link = stream->next_capturing;
	stream->capturing = CU_STREAM_CAPTURE_STATUS_NONE;
}

static CUresult begin(const char *name, CUstream handle, CUstreamCaptureMode mode, enum default_stream twin)
{
	struct call call;
	struct CUstream_st *stream;
	CUresult answer = call_begin(&call, name, CURRENT);
	if (answer == CUDA_SUCCESS)
		answer = stream_of(&call, handle, twin, &stream);
	if (answer == CUDA_SUCCESS && (unsigned int)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && stream == call.context->legacy)
		answer = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (answer == CUDA_SUCCESS && stream->capturing)
		answer = CUDA_ERROR_ILLEGAL_STATE;
	if (answer == CUDA_SUCCESS && !(stream->graph = graph_new()))
		answer = CUDA_ERROR_OUT_OF_MEMORY;
	if (answer == CUDA_SUCCESS) {
		stream->capturing = CU_STREAM_CAPTURE_STATUS_ACTIVE;
		stream->mode = mode;
		stream->capture = ++own.numbers;
		stream->thread = thread_number();
		stream->next_capturing = own.capturing;
		own.capturing = stream;
	}
	return call_end(&call, answer);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	return begin("cuStreamBeginCapture_v2", stream, mode, LEGACY);
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode)
{
	return begin("cuStreamBeginCapture_v2", stream, mode, PER_THREAD);
}

static CUresult end(CUstream handle, CUgraph *graph, enum default_stream twin)
{
	struct call call;
	struct CUstream_st *stream;
	CUresult answer = call_begin(&call, "cuStreamEndCapture", CURRENT);
	if (answer == CUDA_SUCCESS)
		answer = stream_of(&call, handle, twin, &stream);
	if (answer == CUDA_SUCCESS && !graph)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && !stream->capturing)
		answer = CUDA_ERROR_ILLEGAL_STATE;
	if (answer == CUDA_SUCCESS && stream->mode != CU_STREAM_CAPTURE_MODE_RELAXED && stream->thread != thread_number())
		answer = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (answer == CUDA_SUCCESS) {
		int spoilt = stream->capturing == CU_STREAM_CAPTURE_STATUS_INVALIDATED;
		capture_end(stream);
		*graph = spoilt ? NULL : stream->graph;
		if (spoilt)
			graph_free(stream->graph);
		stream->graph = NULL;
		answer = spoilt ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
	}
	return call_end(&call, answer);
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	return end(stream, graph, LEGACY);
}

CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph)
{
	return end(stream, graph, PER_THREAD);
}

static CUresult info(const char *name, CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                     enum default_stream twin)
{
	struct call call;
	struct CUstream_st *stream;
	CUresult answer = call_begin(&call, name, CURRENT | FAST);
	if (answer == CUDA_SUCCESS)
		answer = stream_of(&call, handle, twin, &stream);
	if (answer == CUDA_SUCCESS && !status)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		*status = stream->capturing;
		if (id)
			*id = stream->capture;
		if (graph)
			*graph = stream->graph;
	}
	return call_end(&call, answer);
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	return info("cuStreamIsCapturing", stream, status, NULL, NULL, LEGACY);
}

CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus *status)
{
	return info("cuStreamIsCapturing", stream, status, NULL, NULL, PER_THREAD);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	return info("cuStreamGetCaptureInfo", stream, status, id, NULL, LEGACY);
}

CUresult cuStreamGetCaptureInfo_ptsz(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	return info("cuStreamGetCaptureInfo", stream, status, id, NULL, PER_THREAD);
}

/* Graphs keep no nodes, so the list of dependencies is empty. */
static CUresult full_info(CUstream handle, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                          const CUgraphNode **dependencies, size_t *count, enum default_stream twin)
{
	CUresult answer = info("cuStreamGetCaptureInfo_v2", handle, status, id, graph, twin);
	if (answer == CUDA_SUCCESS && dependencies)
		*dependencies = NULL;
	if (answer == CUDA_SUCCESS && count)
		*count = 0;
	return answer;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **dependencies, size_t *count)
{
	return full_info(stream, status, id, graph, dependencies, count, LEGACY);
}

CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                                        const CUgraphNode **dependencies, size_t *count)
{
	return full_info(stream, status, id, graph, dependencies, count, PER_THREAD);
}

/* Swaps the thread's own mode with *mode. */
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuThreadExchangeStreamCaptureMode", INITIALISED | FAST);
	if (answer == CUDA_SUCCESS && (!mode || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		CUstreamCaptureMode before = thread_mode;
		thread_mode = *mode;
		*mode = before;
	}
	return call_end(&call, answer);
}

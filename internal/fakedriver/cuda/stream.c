/*
 * Streams. Work on a stream is done when it is submitted, so waiting for a stream affects only
 * the pools: they reuse what was freed on it, and free what they hold above their thresholds.
 */
#include "driver.h"

#include <stdatomic.h>
#include <stdlib.h>

number thread_number(void)
{
	static _Atomic number last;
	static _Thread_local number thread;
	if (!thread)
		thread = ++last;
	return thread;
}

struct CUstream_st *stream_new(struct CUctx_st *context, unsigned int flags, int priority)
{
	struct CUstream_st *stream = calloc(1, sizeof *stream);
	if (!stream)
		return NULL;
	stream->context = context;
	stream->flags = flags;
	stream->priority = priority;
	stream->id = ++own.numbers;
	object_add(&stream->object, STREAM);
	return stream;
}

/* This thread's default stream, one for all contexts and for the thread's life. */
static struct CUstream_st *thread_stream(struct CUctx_st *context)
{
	static _Thread_local struct CUstream_st *stream;
	if (!stream && (stream = stream_new(context, CU_STREAM_DEFAULT, 0)))
		stream->of_thread = 1;
	if (stream && !stream->capturing)
		stream->context = context;
	return stream;
}

/* Whether any captured stream synchronises with the legacy stream. */
static int blocking_captured(void)
{
	for (const struct CUstream_st *stream = own.capturing; stream; stream = stream->next_capturing)
		if (!(stream->flags & CU_STREAM_NON_BLOCKING))
			return 1;
	return 0;
}

CUresult stream_of(const struct call *call, CUstream handle, enum default_stream twin, struct CUstream_st **stream)
{
	if (handle == CU_STREAM_PER_THREAD || (!handle && twin == PER_THREAD)) {
		*stream = thread_stream(call->context);
		return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (handle && handle != CU_STREAM_LEGACY) {
		*stream = handle;
		return object_is(handle, STREAM) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
	}
	*stream = call->context->legacy;
	return blocking_captured() ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

static CUresult create(const char *name, CUstream *stream, unsigned int flags, int priority)
{
	struct call call;
	CUresult answer = call_begin(&call, name, CURRENT);
	if (answer == CUDA_SUCCESS && (!stream || flags & ~(unsigned int)CU_STREAM_NON_BLOCKING))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		CUstream made = stream_new(call.context, flags, priority < -5 ? -5 : priority > 0 ? 0 : priority);
		if (made)
			*stream = made;
		else
			answer = CUDA_ERROR_OUT_OF_MEMORY;
	}
	return call_end(&call, answer);
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	return create("cuStreamCreate", stream, flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
	return create("cuStreamCreateWithPriority", stream, flags, priority);
}

static void destroy(struct CUstream_st *stream)
{
	if (stream->capturing)
		capture_end(stream);
	graph_free(stream->graph);
	object_remove(&stream->object);
	free(stream);
}

/* Default streams cannot be destroyed. */
CUresult cuStreamDestroy_v2(CUstream stream)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuStreamDestroy_v2", CURRENT);
	if (answer == CUDA_SUCCESS && (!stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
	                               !object_is(stream, STREAM) || stream->of_thread || stream == stream->context->legacy))
		answer = CUDA_ERROR_INVALID_HANDLE;
	if (answer == CUDA_SUCCESS)
		destroy(stream);
	return call_end(&call, answer);
}

/* Threads keep their default streams. A context keeps its legacy stream, because the context may be used again. */
void streams_release(struct CUctx_st *context)
{
	struct CUstream_st *next;
	for (struct CUstream_st *stream = object_next(STREAM, NULL); stream; stream = next) {
		next = object_next(STREAM, stream);
		if (stream->context == context && stream != context->legacy && !stream->of_thread)
			destroy(stream);
	}
}

static CUresult begin(struct call *call, const char *name, enum need need, CUstream handle, enum default_stream twin,
                      struct CUstream_st **stream)
{
	CUresult answer = call_begin(call, name, CURRENT | need);
	return answer == CUDA_SUCCESS ? stream_of(call, handle, twin, stream) : answer;
}

/* Waiting for a captured stream fails and invalidates the capture. */
static CUresult not_captured(struct CUstream_st *stream)
{
	if (!stream->capturing)
		return CUDA_SUCCESS;
	stream->capturing = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* Waiting for the legacy stream counts as waiting for all streams of the device, also non-blocking ones. */
static CUresult wait_for(const char *name, CUstream handle, enum default_stream twin,
                         void (*learn)(struct device *, number))
{
	struct call call;
	struct CUstream_st *stream;
	CUresult answer = begin(&call, name, FAST, handle, twin, &stream);
	if (answer == CUDA_SUCCESS)
		answer = not_captured(stream);
	if (answer == CUDA_SUCCESS)
		learn(stream->context->device, stream == stream->context->legacy ? 0 : stream->id);
	return call_end(&call, answer);
}

CUresult cuStreamSynchronize(CUstream stream)
{
	return wait_for("cuStreamSynchronize", stream, LEGACY, pools_synchronize);
}

CUresult cuStreamSynchronize_ptsz(CUstream stream)
{
	return wait_for("cuStreamSynchronize", stream, PER_THREAD, pools_synchronize);
}

CUresult cuStreamQuery(CUstream stream)
{
	return wait_for("cuStreamQuery", stream, LEGACY, pools_settle);
}

CUresult cuStreamQuery_ptsz(CUstream stream)
{
	return wait_for("cuStreamQuery", stream, PER_THREAD, pools_settle);
}

/* The properties that the function get can write to place. */
enum property { FLAGS, PRIORITY, ITS_CONTEXT };

static CUresult get(const char *name, CUstream handle, enum default_stream twin, enum property what, void *place)
{
	struct call call;
	struct CUstream_st *stream;
	CUresult answer = begin(&call, name, FAST, handle, twin, &stream);
	if (answer == CUDA_SUCCESS && !place)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && what == FLAGS)
		*(unsigned int *)place = stream->flags;
	else if (answer == CUDA_SUCCESS && what == PRIORITY)
		*(int *)place = stream->priority;
	else if (answer == CUDA_SUCCESS)
		*(CUcontext *)place = stream->context;
	return call_end(&call, answer);
}

#define PROPERTY(function, type, what)                                 \
	CUresult function(CUstream stream, type *place)                 \
	{                                                               \
		return get(#function, stream, LEGACY, what, place);        \
	}                                                               \
	CUresult function##_ptsz(CUstream stream, type *place)          \
	{                                                               \
		return get(#function, stream, PER_THREAD, what, place);    \
	}

PROPERTY(cuStreamGetFlags, unsigned int, FLAGS)
PROPERTY(cuStreamGetPriority, int, PRIORITY)
PROPERTY(cuStreamGetCtx, CUcontext, ITS_CONTEXT)

static CUresult wait_event(CUstream handle, CUevent event, enum default_stream twin)
{
	struct call call;
	struct CUstream_st *stream;
	CUresult answer = begin(&call, "cuStreamWaitEvent", FAST, handle, twin, &stream);
	if (answer == CUDA_SUCCESS && !object_is(event, EVENT))
		answer = CUDA_ERROR_INVALID_HANDLE;
	return call_end(&call, answer);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	(void)flags;
	return wait_event(stream, event, LEGACY);
}

CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags)
{
	(void)flags;
	return wait_event(stream, event, PER_THREAD);
}

/* The function runs before the call returns, without the lock. On a captured stream the function does not run. */
static CUresult host_function(CUstream handle, CUhostFn function, void *data, enum default_stream twin)
{
	struct call call;
	struct CUstream_st *stream;
	CUresult answer = begin(&call, "cuLaunchHostFunc", FAST, handle, twin, &stream);
	if (answer == CUDA_SUCCESS && !function)
		answer = CUDA_ERROR_INVALID_VALUE;
	int run = answer == CUDA_SUCCESS && !stream->capturing;
	answer = call_end(&call, answer);
	if (run)
		function(data);
	return answer;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
	return host_function(stream, function, data, LEGACY);
}

CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void *data)
{
	return host_function(stream, function, data, PER_THREAD);
}

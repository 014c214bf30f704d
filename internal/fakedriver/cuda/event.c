/* Events. Waiting for an event waits for the stream on which it was recorded. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct CUevent_st {
	struct object object;
	struct device *device;
	unsigned int flags;
	number stream; /* on which it was recorded last; 0: none yet */
	struct timespec recorded;
};

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
	struct call call;
	unsigned int known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
	CUresult answer = call_begin(&call, "cuEventCreate", CURRENT);
	if (answer == CUDA_SUCCESS && (!event || flags & ~known))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		CUevent made = calloc(1, sizeof *made);
		if (made) {
			made->device = call.device;
			made->flags = flags;
			object_add(&made->object, EVENT);
			*event = made;
		} else {
			answer = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	return call_end(&call, answer);
}

static CUresult begin(struct call *call, const char *name, CUevent event)
{
	CUresult answer = call_begin(call, name, CURRENT | FAST);
	if (answer == CUDA_SUCCESS && !object_is(event, EVENT))
		answer = CUDA_ERROR_INVALID_HANDLE;
	return answer;
}

CUresult cuEventDestroy_v2(CUevent event)
{
	struct call call;
	CUresult answer = begin(&call, "cuEventDestroy_v2", event);
	if (answer == CUDA_SUCCESS) {
		object_remove(&event->object);
		free(event);
	}
	return call_end(&call, answer);
}

static CUresult record(const char *name, CUevent event, CUstream handle, enum default_stream twin)
{
	struct call call;
	struct CUstream_st *stream;
	CUresult answer = begin(&call, name, event);
	if (answer == CUDA_SUCCESS)
		answer = stream_of(&call, handle, twin, &stream);
	if (answer == CUDA_SUCCESS) {
		event->stream = stream->id;
		clock_gettime(CLOCK_MONOTONIC, &event->recorded);
	}
	return call_end(&call, answer);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	return record("cuEventRecord", event, stream, LEGACY);
}

CUresult cuEventRecord_ptsz(CUevent event, CUstream stream)
{
	return record("cuEventRecord", event, stream, PER_THREAD);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
	(void)flags;
	return record("cuEventRecordWithFlags", event, stream, LEGACY);
}

CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned int flags)
{
	(void)flags;
	return record("cuEventRecordWithFlags", event, stream, PER_THREAD);
}

static CUresult wait_for(const char *name, CUevent event, void (*learn)(struct device *, number))
{
	struct call call;
	CUresult answer = begin(&call, name, event);
	if (answer == CUDA_SUCCESS && event->stream)
		learn(event->device, event->stream);
	return call_end(&call, answer);
}

CUresult cuEventQuery(CUevent event)
{
	return wait_for("cuEventQuery", event, pools_settle);
}

CUresult cuEventSynchronize(CUevent event)
{
	return wait_for("cuEventSynchronize", event, pools_synchronize);
}

static CUresult elapsed(const char *name, float *milliseconds, CUevent start, CUevent end)
{
	struct call call;
	CUresult answer = begin(&call, name, start);
	if (answer == CUDA_SUCCESS && (!object_is(end, EVENT) || !start->stream || !end->stream ||
	                               (start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
		answer = CUDA_ERROR_INVALID_HANDLE;
	if (answer == CUDA_SUCCESS && !milliseconds)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		*milliseconds = (float)(end->recorded.tv_sec - start->recorded.tv_sec) * 1e3f +
		                (float)(end->recorded.tv_nsec - start->recorded.tv_nsec) / 1e6f;
	return call_end(&call, answer);
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
	return elapsed("cuEventElapsedTime", milliseconds, start, end);
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
	return elapsed("cuEventElapsedTime_v2", milliseconds, start, end);
}

/* The contents of a CUipcEventHandle. Work is done when it is submitted, so there is nothing to wait for. */
struct shared {
	number magic;
	pid_t pid;
};
#define SHARED_MAGIC 0x7672616d65766e74ULL

CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
	struct call call;
	CUresult answer = begin(&call, "cuIpcGetEventHandle", event);
	/* The documentation of cuIpcGetEventHandle also requires CU_EVENT_DISABLE_TIMING, which is not checked here. */
	if (answer == CUDA_SUCCESS && (!handle || !(event->flags & CU_EVENT_INTERPROCESS)))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		struct shared shared = { .magic = SHARED_MAGIC, .pid = getpid() };
		memset(handle, 0, sizeof *handle);
		memcpy(handle, &shared, sizeof shared);
	}
	return call_end(&call, answer);
}

/* cuIpcOpenEventHandle's documentation: "The imported event ... must be created in another process." */
CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
	struct shared shared;
	memcpy(&shared, &handle, sizeof shared);
	if (shared.magic != SHARED_MAGIC)
		return CUDA_ERROR_INVALID_VALUE;
	if (shared.pid == getpid())
		return CUDA_ERROR_INVALID_CONTEXT;
	return cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
}

/* Streams and events. */
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
	return WITH_CONTEXT(cuStreamCreate, stream, CU_STREAM_DEFAULT);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
	return WITH_CONTEXT(cuStreamCreate, stream, flags);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
	return WITH_CONTEXT(cuStreamCreateWithPriority, stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
	return WITH_CONTEXT(cuStreamDestroy, stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
	return WITH_CONTEXT(cuStreamSynchronize, stream);
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
	return WITH_CONTEXT(cuStreamQuery, stream);
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int *flags)
{
	return WITH_CONTEXT(cuStreamGetFlags, stream, flags);
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
	return WITH_CONTEXT(cuStreamGetPriority, stream, priority);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	return WITH_CONTEXT(cuStreamWaitEvent, stream, event, flags);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
	return WITH_CONTEXT(cuLaunchHostFunc, stream, function, data);
}

struct callback {
	cudaStreamCallback_t function;
	cudaStream_t stream;
	void *data;
};

static void run_callback(void *argument)
{
	struct callback callback = *(struct callback *)argument;
	free(argument);
	callback.function(callback.stream, cudaSuccess, callback.data);
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void *data, unsigned int flags)
{
	struct callback *callback = function && !flags ? malloc(sizeof *callback) : NULL;
	if (!callback)
		return record(cudaErrorInvalidValue);
	*callback = (struct callback){ function, stream, data };
	cudaError_t answer = WITH_CONTEXT(cuLaunchHostFunc, stream, run_callback, callback);
	if (answer != cudaSuccess)
		free(callback);
	return answer;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	return WITH_CONTEXT(cuEventCreate, event, CU_EVENT_DEFAULT);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	return WITH_CONTEXT(cuEventCreate, event, flags);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	return WITH_CONTEXT(cuEventDestroy, event);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	return WITH_CONTEXT(cuEventRecord, event, stream);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
	return WITH_CONTEXT(cuEventRecordWithFlags, event, stream, flags);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	return WITH_CONTEXT(cuEventQuery, event);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	return WITH_CONTEXT(cuEventSynchronize, event);
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
	return WITH_CONTEXT(cuEventElapsedTime, milliseconds, start, end);
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
	return WITH_CONTEXT(cuIpcGetEventHandle, (CUipcEventHandle *)handle, event);
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
	CUipcEventHandle same;
	memcpy(&same, &handle, sizeof same);
	return WITH_CONTEXT(cuIpcOpenEventHandle, event, same);
}

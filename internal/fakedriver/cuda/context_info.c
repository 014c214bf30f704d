/* Properties of contexts, and waiting for all of their work. */
#include "driver.h"

CUresult cuCtxGetDevice(CUdevice *device)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuCtxGetDevice", INITIALISED | FAST);
	if (answer == CUDA_SUCCESS && !device)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && !call.context)
		answer = CUDA_ERROR_INVALID_CONTEXT;
	if (answer == CUDA_SUCCESS)
		*device = call.device->ordinal;
	return call_end(&call, answer);
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuCtxGetFlags", CURRENT);
	if (answer == CUDA_SUCCESS && !flags)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		*flags = call.context->flags;
	return call_end(&call, answer);
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuCtxGetId", INITIALISED);
	if (answer == CUDA_SUCCESS && !id)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && !context)
		context = call.context;
	if (answer == CUDA_SUCCESS && !object_is(context, CONTEXT))
		answer = CUDA_ERROR_INVALID_CONTEXT;
	if (answer == CUDA_SUCCESS && !context->alive)
		answer = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (answer == CUDA_SUCCESS)
		*id = context->id;
	return call_end(&call, answer);
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned int *version)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuCtxGetApiVersion", INITIALISED);
	if (answer == CUDA_SUCCESS && !version)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && context && !object_is(context, CONTEXT))
		answer = CUDA_ERROR_INVALID_CONTEXT;
	if (answer == CUDA_SUCCESS)
		*version = 3020; /* contexts of cuCtxCreate_v2 and later */
	return call_end(&call, answer);
}

/* Limits are accepted and have no effect, because no kernel runs. */
CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct call call;
	(void)value;
	CUresult answer = call_begin(&call, "cuCtxSetLimit", CURRENT);
	if (answer == CUDA_SUCCESS && limit != CU_LIMIT_STACK_SIZE && limit != CU_LIMIT_PRINTF_FIFO_SIZE &&
	    limit != CU_LIMIT_MALLOC_HEAP_SIZE)
		answer = CUDA_ERROR_UNSUPPORTED_LIMIT;
	return call_end(&call, answer);
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuCtxGetLimit", CURRENT);
	if (answer == CUDA_SUCCESS && !value)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		switch (limit) {
		case CU_LIMIT_STACK_SIZE: *value = 1024; break;
		case CU_LIMIT_PRINTF_FIFO_SIZE: *value = 7 * MIB; break;
		case CU_LIMIT_MALLOC_HEAP_SIZE: *value = 8 * MIB; break;
		default: answer = CUDA_ERROR_UNSUPPORTED_LIMIT;
		}
	}
	return call_end(&call, answer);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuCtxGetStreamPriorityRange", CURRENT);
	if (answer == CUDA_SUCCESS) {
		if (least)
			*least = 0;
		if (greatest)
			*greatest = -5;
	}
	return call_end(&call, answer);
}

CUresult cuCtxSynchronize(void)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuCtxSynchronize", CURRENT | UNSAFE);
	if (answer == CUDA_SUCCESS)
		pools_synchronize(call.device, 0);
	return call_end(&call, answer);
}

/* Sets the bit of the peer's device, or returns why the current context cannot access that device. */
static CUresult peer_bit(const struct call *call, CUcontext peer, number *bit)
{
	if (!object_is(peer, CONTEXT) || !peer->alive || peer == call->context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (peer->device == call->device)
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	*bit = (number)1 << peer->device->ordinal;
	return CUDA_SUCCESS;
}

/* Access is recorded, and has no effect: every copy reaches every GPU. */
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	struct call call;
	number bit = 0;
	CUresult answer = call_begin(&call, "cuCtxEnablePeerAccess", CURRENT);
	if (answer == CUDA_SUCCESS)
		answer = flags ? CUDA_ERROR_INVALID_VALUE : peer_bit(&call, peer, &bit);
	if (answer == CUDA_SUCCESS && call.context->peers & bit)
		answer = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	if (answer == CUDA_SUCCESS)
		call.context->peers |= bit;
	return call_end(&call, answer);
}

CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
	struct call call;
	number bit = 0;
	CUresult answer = call_begin(&call, "cuCtxDisablePeerAccess", CURRENT);
	if (answer == CUDA_SUCCESS)
		answer = peer_bit(&call, peer, &bit);
	if (answer == CUDA_SUCCESS && !(call.context->peers & bit))
		answer = CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	if (answer == CUDA_SUCCESS)
		call.context->peers &= ~bit;
	return call_end(&call, answer);
}

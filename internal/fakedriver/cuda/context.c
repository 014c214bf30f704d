/*
 * Contexts. A process needs a context to use a GPU. A context costs the state file's
 * context_bytes, and its allocations are freed with it. Each thread has a stack of
 * current contexts.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_CONTEXT_BYTES (500 * MIB)
#define DEEPEST 128

static _Thread_local struct CUctx_st *stack[DEEPEST];
static _Thread_local int depth;

struct CUctx_st *context_current(void)
{
	return depth ? stack[depth - 1] : NULL;
}

static CUresult push(struct CUctx_st *context)
{
	if (depth == DEEPEST)
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = context;
	return CUDA_SUCCESS;
}

/* The size of a context on a GPU, in bytes. */
static number cost(const struct call *call, struct device *device)
{
	const struct gpu *gpu = device_gpu(call->state, device);
	return gpu && gpu->context_bytes < ABSENT ? gpu->context_bytes : DEFAULT_CONTEXT_BYTES;
}

/* Makes a new or a released context usable. */
static CUresult bring_up(const struct call *call, struct CUctx_st *context)
{
	enum { PROHIBITED = 2 };
	struct device *device = context->device;
	const struct gpu *gpu = device_gpu(call->state, device);
	if (device_lost(call->state, device) || gpu->compute_mode == PROHIBITED)
		return CUDA_ERROR_DEVICE_UNAVAILABLE;
	context->charged = cost(call, device);
	if (!device_take(call, device, context->charged))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (!context->legacy && !(context->legacy = stream_new(context, 0, 0))) {
		device_give(device, context->charged);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	arena_init(&context->small, device, PAGE, 512);
	context->alive = 1;
	context->id = ++own.numbers;
	context->peers = 0;
	device->contexts++;
	return CUDA_SUCCESS;
}

static void bring_down(struct CUctx_st *context)
{
	struct device *device = context->device;
	streams_release(context);
	allocations_release(context);
	arena_trim(&context->small, 0);
	context->alive = 0;
	if (--device->contexts == 0)
		pools_release(device);
	device_give(device, context->charged);
}

static struct CUctx_st *new_context(struct device *device, unsigned int flags)
{
	struct CUctx_st *context = calloc(1, sizeof *context);
	if (!context)
		return NULL;
	context->device = device;
	context->flags = flags;
	object_add(&context->object, CONTEXT);
	return context;
}

static struct CUctx_st *primary_of(struct device *device)
{
	if (!device->primary)
		device->primary = new_context(device, device->primary_flags);
	return device->primary;
}

/* The handle of a primary context, which need not be retained yet. */
static CUresult runtime_context(CUcontext *context, CUdevice ordinal)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, "cuGetExportTable", INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = call_device(&call, ordinal, &device);
	if (answer == CUDA_SUCCESS && !(*context = primary_of(device)))
		answer = CUDA_ERROR_OUT_OF_MEMORY;
	return call_end(&call, answer);
}

/* NVIDIA's runtime asks for several tables. This library has only one, whose function returns a primary
 * context: a probe that watches cuDevicePrimaryCtxRetain could miss that context. */
CUresult cuGetExportTable(const void **table, const CUuuid *id)
{
	static const unsigned char runtime[16] = { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
		                                   0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9 };
	static const void *functions[] = { NULL, NULL, (const void *)runtime_context };
	if (!table || !id || memcmp(id, runtime, sizeof runtime) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	*table = functions;
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice ordinal)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, "cuDevicePrimaryCtxRetain", INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = call_device(&call, ordinal, &device);
	if (answer == CUDA_SUCCESS && !context)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS && !primary_of(device))
		answer = CUDA_ERROR_OUT_OF_MEMORY;
	if (answer == CUDA_SUCCESS && !device->primary->alive) {
		device->primary->flags = device->primary_flags;
		answer = bring_up(&call, device->primary);
	}
	if (answer == CUDA_SUCCESS) {
		device->primary->references++;
		*context = device->primary;
	}
	return call_end(&call, answer);
}

/* cuDevicePrimaryCtxRelease drops one reference, cuDevicePrimaryCtxReset all of them. */
static CUresult let_go(const char *name, CUdevice ordinal, int all)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, name, INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = call_device(&call, ordinal, &device);
	int alive = answer == CUDA_SUCCESS && device->primary && device->primary->alive;
	if (answer == CUDA_SUCCESS && !alive && !all)
		answer = CUDA_ERROR_INVALID_CONTEXT;
	if (alive) {
		struct CUctx_st *primary = device->primary;
		primary->references = all ? 0 : primary->references - 1;
		if (primary->references == 0)
			bring_down(primary);
	}
	return call_end(&call, answer);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	return let_go("cuDevicePrimaryCtxRelease_v2", device, 0);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	return let_go("cuDevicePrimaryCtxReset_v2", device, 1);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned int *flags, int *active)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, "cuDevicePrimaryCtxGetState", INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = call_device(&call, ordinal, &device);
	if (answer == CUDA_SUCCESS && (!flags || !active))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		*flags = device->primary_flags;
		*active = device->primary && device->primary->alive;
	}
	return call_end(&call, answer);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice ordinal, unsigned int flags)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, "cuDevicePrimaryCtxSetFlags_v2", INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = call_device(&call, ordinal, &device);
	if (answer == CUDA_SUCCESS && flags & ~(unsigned int)CU_CTX_FLAGS_MASK)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		device->primary_flags = flags;
		if (device->primary)
			device->primary->flags = flags;
	}
	return call_end(&call, answer);
}

static CUresult create(const char *name, CUcontext *context, unsigned int flags, CUdevice ordinal)
{
	struct call call;
	struct device *device;
	CUresult answer = call_begin(&call, name, INITIALISED);
	if (answer == CUDA_SUCCESS)
		answer = call_device(&call, ordinal, &device);
	if (answer == CUDA_SUCCESS && (!context || flags & ~(unsigned int)CU_CTX_FLAGS_MASK))
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS) {
		struct CUctx_st *made = new_context(device, flags);
		answer = made ? bring_up(&call, made) : CUDA_ERROR_OUT_OF_MEMORY;
		if (answer == CUDA_SUCCESS && (answer = push(made)) != CUDA_SUCCESS)
			bring_down(made);
		if (answer == CUDA_SUCCESS)
			*context = made;
	}
	return call_end(&call, answer);
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
	return create("cuCtxCreate_v2", context, flags, device);
}

/* The multiprocessors and the graphics API of a context make no difference here. */
CUresult cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *affinities, int count, unsigned int flags,
                        CUdevice device)
{
	if (count && !affinities)
		return CUDA_ERROR_INVALID_VALUE;
	return create("cuCtxCreate_v3", context, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *parameters, unsigned int flags, CUdevice device)
{
	(void)parameters;
	return create("cuCtxCreate_v4", context, flags, device);
}

static int is_primary(const struct CUctx_st *context)
{
	return context->device->primary == context;
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuCtxDestroy_v2", INITIALISED);
	if (answer == CUDA_SUCCESS && (!object_is(context, CONTEXT) || is_primary(context)))
		answer = CUDA_ERROR_INVALID_CONTEXT;
	if (answer == CUDA_SUCCESS && !context->alive)
		answer = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (answer == CUDA_SUCCESS) {
		bring_down(context);
		if (context_current() == context)
			depth--;
	}
	return call_end(&call, answer);
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuCtxPushCurrent_v2", INITIALISED | FAST);
	if (answer == CUDA_SUCCESS && !object_is(context, CONTEXT))
		answer = CUDA_ERROR_INVALID_CONTEXT;
	if (answer == CUDA_SUCCESS)
		answer = push(context);
	return call_end(&call, answer);
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuCtxPopCurrent_v2", INITIALISED | FAST);
	if (answer == CUDA_SUCCESS && depth == 0)
		answer = CUDA_ERROR_INVALID_CONTEXT;
	if (answer == CUDA_SUCCESS) {
		depth--;
		if (context)
			*context = stack[depth];
	}
	return call_end(&call, answer);
}

/* Replaces the top of the stack; NULL pops it. */
CUresult cuCtxSetCurrent(CUcontext context)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuCtxSetCurrent", INITIALISED | FAST);
	if (answer == CUDA_SUCCESS && context && !object_is(context, CONTEXT))
		answer = CUDA_ERROR_INVALID_CONTEXT;
	if (answer == CUDA_SUCCESS) {
		if (depth)
			depth--;
		if (context)
			answer = push(context);
	}
	return call_end(&call, answer);
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
	struct call call;
	CUresult answer = call_begin(&call, "cuCtxGetCurrent", INITIALISED | FAST);
	if (answer == CUDA_SUCCESS && !context)
		answer = CUDA_ERROR_INVALID_VALUE;
	if (answer == CUDA_SUCCESS)
		*context = call.context;
	return call_end(&call, answer);
}

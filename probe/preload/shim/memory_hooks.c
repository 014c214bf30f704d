/*
 * Allocations with an address. A free removes the entry before the real call,
 * because another thread may get the address before the call returns. If the call
 * fails, the entry is restored.
 */
#include "hooks.h"
#include "rescue.h"

static inline void expect(CUresult answer, const CUdeviceptr *pointer)
{
	if (answer == CUDA_SUCCESS)
		ledger_expect(&process.ledger, *pointer);
}

static void allocated(CUresult answer, const CUdeviceptr *pointer, struct entry entry, int outer)
{
	struct place place = place_now();
	if (answer == CUDA_ERROR_OUT_OF_MEMORY && outer) {
		count_out_of_memory(place.device);
		failure_note(place.device, entry.size, entry.api, entry.caller);
	}
	if (answer != CUDA_SUCCESS)
		return;
	entry.address = *pointer;
	entry.since = deciseconds();
	entry.context = place.context;
	entry.epoch = place.epoch;
	entry.device = place.device;
	ledger_add(&process.ledger, &entry);
	serve_wanted();
}

HOOK(cuMemAlloc_v2, (pointer, size), CUdeviceptr *pointer, size_t size)
{
	struct rescue rescue;
	CUresult answer = real(pointer, size);
	if (answer == CUDA_ERROR_OUT_OF_MEMORY && rescue_begin(&rescue, outer, place_now().device, size, API_ALLOC))
		answer = rescue_end(&rescue, real(pointer, size));
	expect(answer, pointer);
	allocated(answer, pointer, (struct entry){ .size = size, .kind = RAW, .api = API_ALLOC, .caller = frame_caller(caller) }, outer);
	return answer;
}

HOOK(cuMemAllocPitch_v2, (pointer, pitch, width, height, element), CUdeviceptr *pointer, size_t *pitch, size_t width,
     size_t height, unsigned int element)
{
	struct rescue rescue;
	CUresult answer = real(pointer, pitch, width, height, element);
	if (answer == CUDA_ERROR_OUT_OF_MEMORY && rescue_begin(&rescue, outer, place_now().device, (uint64_t)width * height, API_ALLOC_PITCH))
		answer = rescue_end(&rescue, real(pointer, pitch, width, height, element));
	uint64_t size = (answer == CUDA_SUCCESS ? (uint64_t)*pitch : (uint64_t)width) * height;
	allocated(answer, pointer, (struct entry){ .size = size, .kind = RAW, .api = API_ALLOC_PITCH, .caller = frame_caller(caller) }, outer);
	return answer;
}

HOOK(cuMemAllocManaged, (pointer, size, flags), CUdeviceptr *pointer, size_t size, unsigned int flags)
{
	CUresult answer = real(pointer, size, flags);
	allocated(answer, pointer, (struct entry){ .size = size, .kind = MANAGED, .api = API_ALLOC_MANAGED, .caller = frame_caller(caller) },
	          outer);
	return answer;
}

HOOK(cuMemFree_v2, (pointer), CUdeviceptr pointer)
{
	(void)caller, (void)outer;
	struct entry taken;
	int known = ledger_take(&process.ledger, pointer, &taken);
	CUresult answer = real(pointer);
	if (known && answer != CUDA_SUCCESS)
		ledger_add(&process.ledger, &taken);
	return answer;
}

/* The size of imported memory is in the other process's stats. */
static void imported(CUresult answer, const CUdeviceptr *pointer, struct frame caller)
{
	allocated(answer, pointer, (struct entry){ .kind = IMPORTED, .api = API_IPC_OPEN, .caller = frame_caller(caller) }, 0);
}

HOOK(cuIpcOpenMemHandle, (pointer, handle, flags), CUdeviceptr *pointer, CUipcMemHandle handle, unsigned int flags)
{
	(void)outer;
	CUresult answer = real(pointer, handle, flags);
	imported(answer, pointer, caller);
	return answer;
}

HOOK(cuIpcOpenMemHandle_v2, (pointer, handle, flags), CUdeviceptr *pointer, CUipcMemHandle handle, unsigned int flags)
{
	(void)outer;
	CUresult answer = real(pointer, handle, flags);
	imported(answer, pointer, caller);
	return answer;
}

HOOK(cuIpcCloseMemHandle, (pointer), CUdeviceptr pointer)
{
	(void)caller, (void)outer;
	struct entry taken;
	int known = ledger_take(&process.ledger, pointer, &taken);
	CUresult answer = real(pointer);
	if (known && answer != CUDA_SUCCESS)
		ledger_add(&process.ledger, &taken);
	return answer;
}

typedef CUresult (*allocate_async)(CUdeviceptr *pointer, size_t size, CUstream stream);
typedef CUresult (*allocate_from_pool)(CUdeviceptr *pointer, size_t size, CUmemoryPool pool, CUstream stream);
typedef CUresult (*free_async)(CUdeviceptr pointer, CUstream stream);

/* An allocation in a captured stream belongs to the graph, and exists once the graph is launched. */
static void pooled(CUresult answer, const CUdeviceptr *pointer, struct entry entry, CUstream stream, int outer)
{
	uint8_t device = place_now().device;
	if (answer == CUDA_ERROR_OUT_OF_MEMORY && outer) {
		pool_out_of_memory(entry.pool, device);
		failure_note(device, entry.size, entry.api, entry.caller);
	}
	if (answer != CUDA_SUCCESS || capture_of(stream))
		return;
	means_pooled();
	entry.kind = POOLED;
	if (!entry.pool)
		entry.pool = pool_current(device);
	allocated(answer, pointer, entry, outer);
}

static inline CUresult noted_allocation(allocate_async real, struct frame caller, int outer, CUdeviceptr *pointer, size_t size,
                                        CUstream stream)
{
	struct rescue rescue;
	CUresult answer = real(pointer, size, stream);
	if (answer == CUDA_ERROR_OUT_OF_MEMORY && rescue_begin(&rescue, outer, place_now().device, size, API_ALLOC_ASYNC))
		answer = rescue_end(&rescue, real(pointer, size, stream));
	expect(answer, pointer);
	pooled(answer, pointer, (struct entry){ .size = size, .api = API_ALLOC_ASYNC, .caller = frame_caller(caller) }, stream, outer);
	return answer;
}

static inline CUresult noted_from_pool(allocate_from_pool real, struct frame caller, int outer, CUdeviceptr *pointer, size_t size,
                                       CUmemoryPool pool, CUstream stream)
{
	struct rescue rescue;
	CUresult answer = real(pointer, size, pool, stream);
	if (answer == CUDA_ERROR_OUT_OF_MEMORY && rescue_begin(&rescue, outer, place_now().device, size, API_ALLOC_FROM_POOL))
		answer = rescue_end(&rescue, real(pointer, size, pool, stream));
	expect(answer, pointer);
	struct entry entry = { .size = size, .api = API_ALLOC_FROM_POOL, .caller = frame_caller(caller), .pool = (uint64_t)(uintptr_t)pool };
	pooled(answer, pointer, entry, stream, outer);
	return answer;
}

static inline CUresult noted_free(free_async real, CUdeviceptr pointer, CUstream stream)
{
	struct entry taken;
	int known = !capture_of(stream) && ledger_take(&process.ledger, pointer, &taken);
	CUresult answer = real(pointer, stream);
	if (known && answer != CUDA_SUCCESS)
		ledger_add(&process.ledger, &taken);
	return answer;
}

HOOK(cuMemAllocAsync, (pointer, size, stream), CUdeviceptr *pointer, size_t size, CUstream stream)
{
	return noted_allocation(real, caller, outer, pointer, size, stream);
}

HOOK(cuMemAllocAsync_ptsz, (pointer, size, stream), CUdeviceptr *pointer, size_t size, CUstream stream)
{
	return noted_allocation(real, caller, outer, pointer, size, stream);
}

HOOK(cuMemAllocFromPoolAsync, (pointer, size, pool, stream), CUdeviceptr *pointer, size_t size, CUmemoryPool pool,
     CUstream stream)
{
	return noted_from_pool(real, caller, outer, pointer, size, pool, stream);
}

HOOK(cuMemAllocFromPoolAsync_ptsz, (pointer, size, pool, stream), CUdeviceptr *pointer, size_t size, CUmemoryPool pool,
     CUstream stream)
{
	return noted_from_pool(real, caller, outer, pointer, size, pool, stream);
}

HOOK(cuMemFreeAsync, (pointer, stream), CUdeviceptr pointer, CUstream stream)
{
	(void)caller, (void)outer;
	return noted_free(real, pointer, stream);
}

HOOK(cuMemFreeAsync_ptsz, (pointer, stream), CUdeviceptr pointer, CUstream stream)
{
	(void)caller, (void)outer;
	return noted_free(real, pointer, stream);
}

/*
 * A library that is loaded in front of a CUDA program (LD_PRELOAD) and keeps
 * the books of its GPU memory. The program notices nothing of it.
 *
 *   program ── cuMemAlloc, dlsym, cuGetProcAddress ──→ memory_hooks.c, object_hooks.c, stream_hooks.c, resolve.c
 *                                                │  the real call first, with the caller's own arguments
 *                                                ├─→ libcuda
 *                                                └─→ ledger.c  pools.c  vmm.c  contexts.c  capture.c
 *                                                              ↓
 *   monitor ── socket ── serve.c ── answer.c ── report.c, flush.c ──→ libcuda: attributes, trims
 *
 * Rules: a hook makes no CUDA call but the program's own; none of our locks is
 * held across a CUDA call; errno stays as the real call left it;
 * nothing at all in a program that does not use a GPU: the thread that serves
 * is started by the first hook that sees a context or an allocation.
 */
#ifndef VRAMSCOPE_PRELOAD_SHIM_H
#define VRAMSCOPE_PRELOAD_SHIM_H

#include "api.h"
#include "ledger.h"

#define EXPORT __attribute__((visibility("default")))

/* state.c: what the process has; a forked child begins anew. */
struct books {
	struct ledger ledger;
	/* Calls that answered CUDA_ERROR_OUT_OF_MEMORY, by device. */
	uint64_t out_of_memory[DEVICES + 1];
};
extern struct books books;
/* What a thread is in the middle of: hooks that are called from inside of another one count nothing. */
struct thread {
	int depth;
	int contexts; /* how many are on its stack */
	uint16_t stack[32];
};
extern __thread struct thread own_thread __attribute__((tls_model("initial-exec")));
uint32_t deciseconds(void);
void count_out_of_memory(uint8_t device);

/* contexts.c: 0 is a context that is not known. */
struct place {
	uint16_t context, epoch;
	uint8_t device;
};
struct place place_now(void); /* where this thread allocates */
void context_made(CUcontext handle, CUdevice device);
void context_retained(CUcontext handle, CUdevice device);
void context_push(CUcontext handle);
void context_set(CUcontext handle);
void context_pop(void);
/* Before the real call, and after it. What the context had is forgotten if it succeeded. */
struct teardown {
	uint16_t context, epoch; /* as it was */
	uint32_t retained;
	int primary;
};
struct teardown context_ending(CUcontext handle);
struct teardown primary_ending(CUdevice device, int all);
void context_ended(struct teardown teardown, int succeeded);
/* Whether the program has a context on a device, as far as that was seen. */
int device_in_use(int device);
void contexts_forget(void);

/* vmm.c: memory without an address, and where it is mapped. */
void vmm_created(CUmemGenericAllocationHandle handle, size_t size, int device, uint64_t caller);
void vmm_retained(CUmemGenericAllocationHandle handle, CUdeviceptr address);
/* Before the real call, which may hand the handle out again at once; undone where that fails. */
struct physical {
	uint64_t number, size, handle, caller;
	uint32_t handles, mappings, since;
	uint8_t device;
};
struct physical vmm_releasing(CUmemGenericAllocationHandle handle);
void vmm_release_failed(const struct physical *was);
void vmm_mapped(CUdeviceptr address, size_t size, CUmemGenericAllocationHandle handle);
void vmm_unmapped(CUdeviceptr address, size_t size);
void vmm_sum(struct sum sums[DEVICES]);
void vmm_walk(void (*see)(const struct entry *entry, void *argument), void *argument);
void vmm_forget(void);

/* pools.c */
enum { POOLS = 128 };
struct pool {
	uint64_t handle;
	uint64_t residue; /* what the last full trim had to leave idle */
	uint64_t out_of_memory;
	uint8_t device, residue_known, is_default;
};
void pool_made(CUmemoryPool pool, int device);
void pool_set(int device, CUmemoryPool pool);
/* Waits until the serving thread asks nothing of it any more. */
int pool_ending(CUmemoryPool pool, struct pool *was);
void pool_end_failed(const struct pool *was);
/* The pool that allocations on a device come from if none is named; 0: its default one. */
uint64_t pool_current(int device);
void pool_out_of_memory(uint64_t handle, int device);
/* Copies those of a device, with its default pool if that is given; their number. */
int pools_of(int device, CUmemoryPool default_pool, struct pool list[POOLS]);
/* The handles of default pools; their number. */
int pools_default(uint64_t handles[DEVICES]);
/* Between these two a pool is not destroyed; 0: it has been. */
int pool_hold(uint64_t handle);
void pool_let_go(uint64_t handle);
void pool_note_residue(uint64_t handle, uint64_t residue);
void pools_forget(void);

/* capture.c */
void capture_begun(CUstream stream);
void capture_ended(CUstream stream);
void captures_of_context_ended(uint16_t context);
int captures_running(void);
int capture_of(CUstream stream); /* whether this one is being captured */
void captures_forget(void);

/* resolve.c */
enum slot {
#define CALL(symbol, ...) SLOT_##symbol,
#include "calls.h"
#undef CALL
	SLOTS
};
/* What an exported symbol of ours stands in front of; NULL: nothing. */
void *resolve_next(enum slot slot);
/* What libcuda's own is, for a hook that was handed out in its place. */
void *resolve_handed_out(enum slot slot);
/* A call of libcuda's that we make ourselves; NULL: it has none of that name. */
void *resolve_driver(const char *symbol);
/* dlsym of a C library that has no versions of symbols (musl.c). */
void *dlsym_without_versions(void);
/* The same function in place of an answer of cuGetProcAddress. */
void resolve_wrap(const char *symbol, int version, cuuint64_t flags, void **function);
/* hooks of each slot, to be handed out. */
void *hook_of(enum slot slot);

/* serve.c */
void serve_start(void); /* unless it has been */
void serve_forget(void);
extern int serving; /* read and written by __atomic_ calls */
static inline void serve_wanted(void)
{
	if (!__atomic_load_n(&serving, __ATOMIC_RELAXED))
		serve_start();
}

#endif

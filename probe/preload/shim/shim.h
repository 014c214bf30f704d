/*
 * A library that is preloaded into a CUDA program (LD_PRELOAD) and counts its
 * GPU memory. Only a rescue changes the program's behaviour.
 *
 *   program ── cuMemAlloc, dlsym, cuGetProcAddress ──→ memory_hooks.c, object_hooks.c, stream_hooks.c, resolve.c
 *                                                │  the real call, with the caller's arguments
 *                                                ├─→ libcuda    (refused: rescue.c asks the daemon, and the call is made again)
 *                                                └─→ ledger.c  pools.c  vmm.c  contexts.c  capture.c
 *                                                              ↓
 *   monitor ── socket ── serve.c ── answer.c ── report.c, flush.c ──→ libcuda: attributes, trims
 *
 * Rules: A hook makes no CUDA call but the program's own. No lock that a hook
 * takes is held across a CUDA call. errno stays as the real call left it. In a
 * program that uses no GPU no thread is started: the first hook that sees a
 * context or an allocation starts the serving thread.
 */
#ifndef VRAMSCOPE_PRELOAD_SHIM_H
#define VRAMSCOPE_PRELOAD_SHIM_H

#include "api.h"
#include "ledger.h"

#define EXPORT __attribute__((visibility("default")))

/* state.c: the process's memory; a forked child starts empty. */
struct process {
	struct ledger ledger;
	/* Calls that returned CUDA_ERROR_OUT_OF_MEMORY, by device. */
	uint64_t out_of_memory[DEVICES + 1];
};
extern struct process process;
/* Per thread: the depth of nested hooks, and the stack of contexts. */
struct thread {
	int depth;
	int contexts; /* on the stack */
	uint16_t stack[32];
};
extern __thread struct thread own_thread __attribute__((tls_model("initial-exec")));
uint64_t milliseconds(void); /* of the monotonic clock */
uint32_t deciseconds(void);
void count_out_of_memory(uint8_t device);

/* failures.c */
void failure_note(uint8_t device, uint64_t size, enum api api, uint64_t caller);
/* Whether, within the last second, the newest failure was of this size, or the last failure before
 * sizes rose again was. */
int failure_repeated(uint8_t device, uint64_t size);
void failures_reset(void);

/* frames.c: a call's return address, where the called function's frame ends, and the caller's rbp. */
struct frame {
	uint64_t pc, end, fp;
};
uint64_t frame_caller(struct frame frame); /* an address in the code that called, beyond NVIDIA's runtime */
int frames_prepare(void); /* not to be called in an allocation: it takes the loader's lock. 0: dlerror has a message of ours */

/* contexts.c: context 0 is unknown. */
struct place {
	uint16_t context, epoch;
	uint8_t device;
};
struct place place_now(void); /* of this thread's current context */
void context_made(CUcontext handle, CUdevice device);
void context_retained(CUcontext handle, CUdevice device);
void context_push(CUcontext handle);
void context_set(CUcontext handle);
void context_pop(void);
/* context_ending and primary_ending are called before the real call, context_ended after it. If
 * the call succeeded and ends the context, the context's entries are dropped. */
struct teardown {
	uint16_t context, epoch; /* before the call */
	uint32_t released;
	int primary, ends;
};
struct teardown context_ending(CUcontext handle);
struct teardown primary_ending(CUdevice device, int all);
void context_ended(struct teardown teardown, int succeeded);
/* Whether a context that was seen is alive on the device. */
int device_in_use(int device);
void contexts_reset(void);

/* vmm.c: physical memory without an address, and its mappings. */
void vmm_created(CUmemGenericAllocationHandle handle, size_t size, int device, uint64_t caller);
void vmm_retained(CUmemGenericAllocationHandle handle, CUdeviceptr address);
/* vmm_releasing is called before the real call, because after that the driver may reuse the handle.
 * vmm_release_failed undoes vmm_releasing. */
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
void vmm_reset(void);

/* pools.c */
enum { POOLS = 128 };
struct pool {
	uint64_t handle;
	uint64_t residue; /* idle bytes after the last full trim: fragmented */
	uint64_t out_of_memory;
	uint8_t device, residue_known, is_default;
};
void pool_made(CUmemoryPool pool, int device);
void pool_set(int device, CUmemoryPool pool);
/* Waits until our threads no longer use the pool. */
int pool_ending(CUmemoryPool pool, struct pool *was);
void pool_end_failed(const struct pool *was);
/* The device's current pool, for allocations that name none; 0: the default pool. */
uint64_t pool_current(int device);
void pool_out_of_memory(uint64_t handle, int device);
/* Copies a device's pools, adding its default pool if given; returns their number. */
int pools_of(int device, CUmemoryPool default_pool, struct pool list[POOLS]);
/* Copies the handles of the default pools; returns their number. */
int pools_default(uint64_t handles[DEVICES]);
/* Between these two calls the pool is not destroyed; 0: it cannot be held, or has been destroyed. */
int pool_hold(uint64_t handle);
void pool_release(uint64_t handle);
void pool_note_residue(uint64_t handle, uint64_t residue);
void pools_reset(void);

/* capture.c */
void capture_begun(CUstream stream);
void capture_ended(CUstream stream);
void captures_of_context_ended(uint16_t context);
int captures_running(void);
int capture_of(CUstream stream); /* whether it is being captured */
void captures_reset(void);

/* loader.c: libc's dlsym, or the next versioned one after ours. */
typedef void *(*dlsym_call)(void *handle, const char *name);
dlsym_call real_dlsym(void);
/* A function that may be in libdl or libpthread; NULL: in no loaded library. The cache is 0 at first. */
void *loaded_function(void **cache, const char *name);
#define LOADED(name) ((__typeof__(&name))({ static void *cache; loaded_function(&cache, #name); }))

/* resolve.c */
enum slot {
#define CALL(symbol, ...) SLOT_##symbol,
#include "calls.h"
#undef CALL
	SLOTS
};
/* The next definition of a symbol that we export; NULL: none. */
void *resolve_next(enum slot slot);
/* libcuda's function, for a hook that was handed out in its place. */
void *resolve_handed_out(enum slot slot);
/* A libcuda function that we call ourselves; NULL: missing. */
void *resolve_driver(const char *symbol);
/* Replaces the function returned by cuGetProcAddress with our hook, if there is one. */
void resolve_wrap(const char *symbol, int version, cuuint64_t flags, void **function);

/* serve.c */
void serve_start(void); /* no effect after the first call, until serve_reset */
void serve_reset(void);
extern int serving; /* accessed atomically */
static inline void serve_wanted(void)
{
	if (!__atomic_load_n(&serving, __ATOMIC_RELAXED))
		serve_start();
}

#endif

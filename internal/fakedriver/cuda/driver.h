/*
 * A CUDA driver without a GPU: memory is counted, addresses are assigned,
 * and work on streams is done when it is submitted. Nothing computes.
 *
 *   program ── cu* ──→ call.c (state, faults, context, lock)
 *                        │
 *        device.c  context.c  memory.c  pool.c  virtual.c  stream.c  …
 *                        │
 *                  arena.c ── device_take ──→ ../state/ledger.c ──→ libnvidia-ml, other processes
 *
 * One mutex guards everything that a process has. A child that is forked after cuInit has nothing:
 * its calls return CUDA_ERROR_NOT_INITIALIZED, as with the real driver.
 */
#ifndef VRAMSCOPE_FAKE_CUDA_DRIVER_H
#define VRAMSCOPE_FAKE_CUDA_DRIVER_H

#include "api.h"

#include "../state/ledger.h"
#include "../state/state.h"
#include "space.h"

#define MIB (1ULL << 20)
/* The driver takes memory of a GPU in multiples of this. */
#define PAGE (2 * MIB)
/* The largest allocation, so small that sums do not overflow. */
#define LARGEST (1ULL << 46)
/* Where device memory begins. Linux by itself maps nothing in the ADDRESSES bytes from there, so no
 * address is host memory as well. */
#define FIRST_ADDRESS (4ULL << 40)
#define ADDRESSES (64ULL << 40)

enum { MAX_DEVICES = 64 };

/* A GPU, or a MIG instance, as this process numbers it. Fixed by cuInit. */
struct device {
	int ordinal;
	char gpu[TEXT_SIZE];      /* UUID */
	char instance[TEXT_SIZE]; /* UUID of the MIG instance, "" for a whole GPU */
	number key;               /* in the ledger */
	size_t hint;              /* the GPU's index in the state when the device was added; tried first */
	number limit, taken;      /* bytes that this process may take as a client of MPS, 0: no limit; bytes that it has taken */
	int contexts;
	struct CUctx_st *primary;
	unsigned int primary_flags;
	CUmemoryPool default_pool, current_pool, graph_pool;
};

/* What a handle can refer to. */
enum kind { CONTEXT = 1, STREAM, EVENT, POOL, GRAPH, EXECUTABLE_GRAPH, PHYSICAL, MODULE, FUNCTION };

/* The first member of everything that a handle points to. */
struct object {
	struct node node;
};

/* Pieces of a GPU's memory, cut into blocks. */
struct arena {
	struct device *device;
	struct space space;
	number chunk;    /* bytes taken of the GPU at a time */
	number largest;  /* the most that reserved may be; 0: no limit */
	number reserved; /* bytes taken of the GPU */
	struct node *pieces; /* struct piece, by address */
};

/* Contexts are never freed: threads may still have them on their stacks. */
struct CUctx_st {
	struct object object;
	struct device *device;
	unsigned int flags;
	int references; /* of a primary context */
	int alive;
	number charged, id;
	number peers; /* a bit for each device whose memory the context may use */
	struct arena small; /* allocations below a page share pages */
	struct CUstream_st *legacy;
};

struct CUstream_st {
	struct object object;
	struct CUctx_st *context;
	unsigned int flags;
	int priority;
	number id;
	CUstreamCaptureStatus capturing;
	CUstreamCaptureMode mode;
	number capture, thread; /* numbers of the capture and of the thread that began it */
	CUgraph graph;
	int of_thread; /* 1: the default stream of a thread */
	struct CUstream_st *next_capturing;
};

/* used includes pending memory. used and arena.reserved are the pool's attributes of these names. */
struct CUmemPoolHandle_st {
	struct object object;
	struct arena arena;
	number used, used_high, reserved_high, threshold;
	int reuse[4]; /* by CU_MEMPOOL_ATTR_REUSE_…; only …_ALLOW_OPPORTUNISTIC has an effect */
	struct allocation *pending; /* freed on a stream that has not been waited for since */
	CUmemAllocationHandleType handle_types;
	int destroyed; /* kept until its last allocation is freed */
	size_t live;
};

enum allocation_kind { LINEAR, SMALL, POOLED, MANAGED, HOST, REGISTERED, RESERVED, IMPORTED };

/* What an address was allocated for. */
struct allocation {
	struct node node; /* by address */
	number size;      /* as requested */
	enum allocation_kind kind;
	struct device *device;
	struct CUctx_st *context;
	struct block *block;
	number charged;
	CUmemoryPool pool;
	CUgraph graph;
	number stream; /* the id of the stream on which a POOLED allocation was freed */
	struct allocation *next;
	struct node *mappings; /* of a reservation, by address */
};

/* All objects of the process; guarded by the mutex of call.c. */
struct process_memory {
	struct ledger *ledger;
	struct device devices[MAX_DEVICES];
	int device_count;
	struct node *objects;
	struct node *allocations;
	struct space addresses;
	number numbers;       /* the last number of a stream, context or capture */
	struct CUstream_st *capturing; /* streams that are being captured */
};
extern struct process_memory own;

/* What a call needs. */
enum need {
	NOTHING = 0,
	INITIALISED = 1,
	CURRENT = 2,  /* a current context on a GPU that is not lost */
	FAST = 4,     /* the state may be a few milliseconds old */
	UNSAFE = 8,   /* a capture may forbid it: capture.c */
};

struct call {
	const char *name;
	enum need need;
	const struct state *state;
	struct CUctx_st *context; /* the current context, NULL if there is none */
	struct device *device;    /* the context's */
	int locked;
};

/*
 * call.c: an error that call_begin returns is the call's answer. Every call ends with
 * call_end, also after such an error; call_end returns its argument.
 */
CUresult call_begin(struct call *call, const char *name, enum need need);
CUresult call_end(struct call *call, CUresult answer);
/* Finds the device that a call names. The state's faults for that device then apply, too. */
CUresult call_device(struct call *call, CUdevice ordinal, struct device **device);
/* Marks the process, but not its children, as initialised. */
CUresult call_initialise(void);

/* device.c */
const struct gpu *device_gpu(const struct state *state, struct device *device);
const struct instance *device_instance(const struct state *state, struct device *device);
int device_lost(const struct state *state, struct device *device);
/* What the state leaves for allocations, and the total, in bytes. */
number device_capacity(const struct state *state, struct device *device);
number device_total(const struct state *state, struct device *device);
/* Takes bytes of the GPU for this process. Returns 0 if the GPU or the process's MPS limit has no room. */
int device_take(const struct call *call, struct device *device, number bytes);
void device_give(struct device *device, number bytes);
void uuid_bytes(const char *uuid, CUuuid *bytes);

/* visible.c: fills own.devices as CUDA_VISIBLE_DEVICES has it. */
void visible_devices(const struct state *state);

/* object.c */
void object_add(struct object *object, enum kind kind);
void object_remove(struct object *object);
int object_is(const void *handle, enum kind kind);
/* The next object of a kind after this one, or the first after NULL. */
void *object_next(enum kind kind, const void *after);

/* context.c: the current context, NULL if there is none. */
struct CUctx_st *context_current(void);

/* arena.c */
void arena_init(struct arena *arena, struct device *device, number chunk, number granularity);
struct block *arena_take(const struct call *call, struct arena *arena, number size);
void arena_give(struct arena *arena, struct block *block);
/* Frees wholly free chunks as long as at least keep bytes stay. */
void arena_trim(struct arena *arena, number keep);

/* memory.c */
struct allocation *allocation_find(CUdeviceptr address);       /* the one that begins at address */
struct allocation *allocation_around(CUdeviceptr address);     /* the one that contains address */
struct allocation *allocation_add(number address, number size, enum allocation_kind kind, struct device *device);
void allocation_forget(struct allocation *allocation);
/* Frees memory of cuMemAlloc or cuMemAllocManaged. Returns 0 for any other memory. */
int allocation_free(struct allocation *allocation);
void allocations_release(struct CUctx_st *context);

/* pointer.c: whether all of a range is memory that a GPU could use. */
int device_range(CUdeviceptr address, number size);
/* Whether an address is in the range of device memory. Any other address is host memory. */
int is_device_address(CUdeviceptr address);

/* pool.c */
CUmemoryPool pool_new(struct device *device);
CUmemoryPool pool_current(struct device *device);
CUresult pool_allocate(const struct call *call, CUmemoryPool pool, number size, struct CUstream_st *stream,
                       CUdeviceptr *pointer);
void pool_free(struct allocation *allocation, struct CUstream_st *stream); /* NULL: at once */
/* Makes memory free again that was freed on a stream (0: on all streams), because the stream has finished. */
void pools_settle(struct device *device, number stream);
/* Like pools_settle, after a wait: pools also free what they hold above their thresholds. */
void pools_synchronize(struct device *device, number stream);
/* Frees what pools hold of a device without contexts. */
void pools_release(struct device *device);

/* stream.c */
enum default_stream { LEGACY, PER_THREAD };
/* The stream of a handle; twin is the default stream that a NULL handle stands for. The legacy stream
 * is refused while a blocking stream is captured. */
CUresult stream_of(const struct call *call, CUstream handle, enum default_stream twin, struct CUstream_st **stream);
struct CUstream_st *stream_new(struct CUctx_st *context, unsigned int flags, int priority);
number thread_number(void);
void streams_release(struct CUctx_st *context);

/* capture.c: whether a capture forbids this thread's present call. Such a capture is invalidated. */
int capture_forbids(void);
void capture_end(struct CUstream_st *stream);

/* graph.c */
CUgraph graph_new(void);
void graph_free(CUgraph graph); /* NULL: does nothing */

/* virtual.c */
int mapped_range(const struct allocation *reservation, number address, number size);

#endif

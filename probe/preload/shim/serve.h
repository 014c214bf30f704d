/* Shared by the serving thread and the flushing thread. */
#ifndef VRAMSCOPE_PRELOAD_SERVE_H
#define VRAMSCOPE_PRELOAD_SERVE_H

#include "shim.h"
#include "text.h"

enum {
	LONGEST_LINE = 256 << 10, /* its newline included */
	UUID_SIZE = 97, /* CUDA's have 40 characters; a request may name longer ones */
};

/* driver.c: the CUDA calls of these threads; none needs or makes a context. */
struct driver {
	CUresult (*cuDeviceGetCount)(int *count);
	CUresult (*cuDevicePrimaryCtxGetState)(CUdevice device, unsigned int *flags, int *active);
	CUresult (*cuDeviceGetUuid)(CUuuid *uuid, CUdevice device);
	CUresult (*cuDeviceGetUuid_v2)(CUuuid *uuid, CUdevice device);
	CUresult (*cuDeviceTotalMem_v2)(size_t *bytes, CUdevice device);
	CUresult (*cuDriverGetVersion)(int *version);
	CUresult (*cuPointerGetAttribute)(void *data, CUpointer_attribute attribute, CUdeviceptr pointer);
	CUresult (*cuDeviceGetDefaultMemPool)(CUmemoryPool *pool, CUdevice device);
	CUresult (*cuMemPoolGetAttribute)(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);
	CUresult (*cuDeviceGetGraphMemAttribute)(CUdevice device, CUgraphMem_attribute attribute, void *value);
};
/* Brackets every use of the driver. 0: the process is exiting, and the driver with it. */
int driver_enter(void);
void driver_leave(void);
void driver_close(void); /* waits up to a second for its users */
void driver_reopen(void); /* in a forked child */
const struct driver *own_driver_calls(void);
/* Whether the program has a context on the device, seen or unseen. */
int device_is_used(int device);

/* A device that the program uses. */
struct gpu {
	char uuid[UUID_SIZE];
	uint64_t total;
	int known;
};
const struct gpu *gpu_of(int device);
int gpu_uuid(int device, char uuid[UUID_SIZE]); /* as gpu_of, without a CUDA call; 0: it is not known yet */
struct pool_stats {
	uint64_t used, reserved, used_high, reserved_high, threshold;
};
int pool_read(uint64_t handle, struct pool_stats *stats);
/* The fragmented part of a pool's idle bytes, as known from its last full trim. */
uint64_t pool_fragmented(const struct pool *pool, const struct pool_stats *stats);
/* Copies the device's pools, including the default one; returns their number. */
int device_pools(int device, struct pool list[POOLS]);
int graph_memory(int device, uint64_t *used, uint64_t *reserved);
/* The process's bytes on a device outside of pools. */
uint64_t raw_bytes(int device, const struct sums *sums, const struct sum vmm[DEVICES]);
uint64_t device_raw_bytes(int device); /* the same, measured now */
int device_has_anything(int device, const struct sums *sums, const struct sum vmm[DEVICES]);

void report_stats(struct text *text);   /* "time_ns":…,"devices":[…] */
void report_hello(struct text *text);   /* "proto":…,"capabilities":[…] */
int report_can_flush(void);

/* survey.c: the single allocations on a device, outside pools (pooled 0) or in a pool. */
void survey_refresh(uint64_t live);
void survey_report(struct text *text, int device, int pooled, uint64_t pool); /* ,"blocks":…,"largest":[…] */
void survey_origins(struct text *text, int device); /* ,"libraries":[…]: who allocated how much outside of pools */
void origin_report(struct text *text, uint64_t caller); /* ,"library":…, if it is known */
void survey_reset(void);

/* failures.c: ,"out_of_memory":[…], if there are any */
void failures_report(struct text *text, int device);

/* flush.c */
struct flush {
	int level, dry_run, device_count;
	uint64_t keep;
	char devices[DEVICES][UUID_SIZE];
};
enum level { GRADUAL = 1, SELECTIVE, URGENT };
void flush_run(const struct flush *flush, struct text *text); /* "level":…,"ms":… */
/* Counts a flush and returns 0, or returns the milliseconds until one is allowed. */
uint64_t flush_rate(void);

/* answer.c: the answer to one line. */
enum verdict_of { ANSWERED, GOODBYE, FLUSHING };
enum verdict_of answer_line(const char *line, size_t length, int busy, struct text *text, struct flush *flush, uint64_t *id);
void answer_refusal(struct text *text, const uint64_t *id, const char *code, const char *message);

/*
 * descriptor.c: a program may close descriptors that it did not open (closefrom in a daemon) and
 * reuse their numbers. So a descriptor's device and inode are recorded, and checked before each
 * use.
 */
struct descriptor {
	int number; /* -1: none */
	uint64_t device, inode;
};
struct stat;
int descriptor_info(int number, struct stat *info); /* 0: it is closed */
struct descriptor descriptor_of(int number);
int descriptor_is(const struct descriptor *descriptor); /* whether it is still the same file */
int descriptor_listens(const struct descriptor *descriptor); /* and also a listening socket */
/* Whether a file's directory belongs to root or this user (owner says to which), and no other user can
 * write in it: a link of another user's would lead elsewhere. */
int owner_alone(const char *file, unsigned int *owner);
void descriptor_close(struct descriptor *descriptor);   /* if it is still the same file */

/* address.c: the socket's directory and name. */
struct address {
	struct descriptor listener;
	uint64_t inode;
	char name[64], runtime[4096], parent[4096], child[48];
};
/* Reads the environment once, on a thread of the program, which may change it later. */
void address_environment(struct address *address);
int address_bind(struct address *address); /* 0: no usable directory */
int address_is_valid(const struct address *address);
void address_remove(struct address *address); /* closes the listener, and removes its name if that is still the listener's */
unsigned long long process_start(void);

/* status.c: whether this thread may make system calls that the program does not. */
int may_serve(void);
/* The main thread's files in /proc. */
struct main_thread {
	struct descriptor status, stat;
};
void main_thread_open(struct main_thread *thread);
enum program {
	RUNNING,
	SEALED,  /* there are more seccomp filters than the process may have: only wait */
	ENDED,   /* all threads but ours have exited */
	UNKNOWN, /* the program has closed the descriptor */
};
/* Under server_loop. */
enum program program_now(const struct main_thread *thread, int own_threads);
/* Whether the main thread has more filters than the process may have, or their number is unknown. For one thread at a
 * time, without a lock. */
int sealed(const struct main_thread *thread);
/* In the last thread: ends the program as its main thread has ended, or returns if that called pthread_exit. */
void end_program(const struct main_thread *thread);

#endif

/* The protocol's end of the library: what the serving thread and the one that flushes need of each other. */
#ifndef VRAMSCOPE_PRELOAD_SERVE_H
#define VRAMSCOPE_PRELOAD_SERVE_H

#include "shim.h"
#include "text.h"

enum {
	LONGEST_LINE = 256 << 10, /* its newline included */
	UUID_SIZE = 97, /* ours have 40 characters, what others may name is longer */
};

/* report.c: the calls that these threads make; none of them needs a current context or makes one. */
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
/* 0: the process is about to end, and the driver with it. Each use is short, and ended. */
int driver_enter(void);
void driver_leave(void);
void driver_close(void); /* waits for those who are in it, a second at most */
void driver_reopen(void); /* in a forked child */
const struct driver *driver_calls_of_ours(void);
/* Whether the program has a context on a device, though its making may not have been seen. */
int device_is_used(int device);

/* A device that the program uses, and the books of one of its pools. */
struct seen {
	char uuid[UUID_SIZE];
	uint64_t total;
	int known;
};
const struct seen *device_seen(int device);
struct pool_books {
	uint64_t used, reserved, used_high, reserved_high, threshold;
};
int pool_read(uint64_t handle, struct pool_books *books);
/* Of what a pool has idle, the part that lies between live blocks as far as a full trim has shown it. */
uint64_t pool_fragmented(const struct pool *pool, const struct pool_books *books);
/* Those of a device, its default one included; their number. */
int device_pools(int device, struct pool list[POOLS]);
int graph_memory(int device, uint64_t *used, uint64_t *reserved);
/* What the process holds on a device outside of pools. */
uint64_t raw_bytes(int device, const struct sums *sums, const struct sum vmm[DEVICES]);
uint64_t device_raw_bytes(int device); /* the same, measured now */
int device_has_anything(int device, const struct sums *sums, const struct sum vmm[DEVICES]);

void report_stats(struct text *text);   /* "time_ns":…,"devices":[…] */
void report_hello(struct text *text);   /* "proto":…,"capabilities":[…] */
int report_can_flush(void);

/* survey.c: what single allocations there are on a device, outside of pools (pooled 0) or in one. */
void survey_refresh(uint64_t live);
void survey_report(struct text *text, int device, int pooled, uint64_t pool); /* ,"blocks":…,"largest":[…] */
void survey_forget(void);

/* flush.c */
struct flush {
	int level, dry_run, device_count;
	uint64_t keep;
	char devices[DEVICES][UUID_SIZE];
};
enum level { GRADUAL = 1, SELECTIVE, URGENT };
void flush_run(const struct flush *flush, struct text *text); /* "level":…,"ms":… */
/* Milliseconds until another flush may be made; 0: it has been counted. */
uint64_t flush_rate(void);

/* answer.c: one line's answer. */
enum verdict_of { ANSWERED, GOODBYE, FLUSHING };
enum verdict_of answer_line(const char *line, size_t length, int busy, struct text *text, struct flush *flush, uint64_t *id);
void answer_refusal(struct text *text, const uint64_t *id, const char *code, const char *message);

/*
 * descriptor.c: a program may close descriptors that are not its own (closefrom
 * in a daemon) and have their numbers for something else afterwards. So who one
 * is is noted, and looked at before each use.
 */
struct descriptor {
	int number; /* -1: there is none */
	uint64_t device, inode;
};
struct descriptor descriptor_of(int number);
int descriptor_is(const struct descriptor *descriptor); /* still what it was */
int descriptor_listens(const struct descriptor *descriptor); /* that, and it is a socket that others can connect to */
void descriptor_close(struct descriptor *descriptor);   /* if it is */

/* address.c: the socket's place. */
struct address {
	struct descriptor listener;
	uint64_t inode;
	char name[64], runtime[4096], parent[4096], child[48];
};
/* Reads the environment, once, in a thread of the program's: it may change it later. */
void address_environment(struct address *address);
int address_bind(struct address *address); /* 0: there is nowhere to serve */
int address_stands(const struct address *address);
void address_leave(struct address *address); /* closes the listener, and removes its name if that is still its own */
unsigned long long process_start(void);

uint64_t milliseconds(void);

/* alone.c: whether nothing of the program runs any more but this library's threads. */
int program_has_ended(int own_threads);

#endif

/* The second chance of an allocation that the driver has refused for lack of memory. */
#ifndef VRAMSCOPE_PRELOAD_RESCUE_H
#define VRAMSCOPE_PRELOAD_RESCUE_H

#include "serve.h"

/* A rescue under way, on the stack of the thread that allocates. */
struct rescue {
	struct descriptor daemon;
	uint64_t began, size; /* in milliseconds; of the allocation */
	uint64_t bytes;       /* asked for */
	int device;
};

/* Whether a refused allocation is to be tried once more. It waits until the daemon has freed
 * what neighbours cache, for at most RESCUE_TIME. If it returns true, rescue_end must follow.
 */
int rescue_begin(struct rescue *rescue, int outer, int device, uint64_t size, enum api api);
/* Takes the answer of the second try. */
CUresult rescue_end(struct rescue *rescue, CUresult answer);

void rescue_open(const char *runtime); /* the directory of this user's sockets, or "" */
void rescue_close(void);               /* the process exits */
void rescue_reset(void);               /* in a forked child */

/* Looks up the program's libraries and its devices' UUIDs for rescue_begin. Called from time to time, on the serving thread or the Python probe's. */
void rescue_prepare(void);
/* ,"rescues":{…}, if there are any on the device */
void rescue_report(struct text *text, int device);

/* ask.c */
void ask_prepare(const char *runtime);
int ask_daemon(struct rescue *rescue, const char *uuid); /* 1: there is room, and ask_tell may follow */
void ask_tell(const struct rescue *rescue, const char *line, int length);

/* means.c: whether the program's own means are used up. */
int means_used_up(int device, uint64_t size, enum api api);
void means_pooled(void);  /* the program uses memory pools, which may cache */
void means_prepare(void); /* looks for the program's libraries, only on a thread of ours */
void means_reset(void);

#endif

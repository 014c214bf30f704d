/* The second chance of an allocation that the driver has refused for lack of memory. */
#ifndef VRAMSCOPE_PRELOAD_RESCUE_H
#define VRAMSCOPE_PRELOAD_RESCUE_H

#include "serve.h"

/* A rescue under way, on the stack of the thread that allocates. */
struct rescue {
	struct descriptor daemon;
	uint64_t began, bytes;
	int device;
};

/*
 * Whether a refused allocation is to be tried once more: it waits meanwhile, for
 * at most RESCUE_TIME, until the daemon has freed what neighbours cache. If it is, rescue_end must follow.
 */
int rescue_begin(struct rescue *rescue, int outer, int device, uint64_t size);
/* Takes the second answer. */
CUresult rescue_end(struct rescue *rescue, CUresult answer);

void rescue_open(const char *runtime); /* the directory of this user's sockets, or "" */
void rescue_close(void);               /* the process exits */
void rescue_reset(void);               /* in a forked child */

/* On the serving thread, from time to time: what rescue_begin must know and cannot look up. */
void rescue_prepare(void);
/* The program uses memory pools, which may cache. */
void rescue_pooled(void);
/* ,"rescues":{…}, if there are any on the device */
void rescue_report(struct text *text, int device);

#endif
